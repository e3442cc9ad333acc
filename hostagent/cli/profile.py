"""``hostagent profile``: list, show, init, validate."""

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

import click

from hostagent import __version__
from hostagent.cli import SETTINGS, Group, examples
from hostagent.cli.options import PROFILE, STANDARD, completed, desired, json_option, warn, write
from hostagent.cli.outputs import output_option
from hostagent.cli.streams import put, say
from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import is_absent
from hostagent.core.typed import plain
from hostagent.engine import catalogue
from hostagent.profiles import files, profile


@click.group(
    "profile", cls=Group, context_settings=SETTINGS, epilog=examples("hostagent profile init -o new.yaml", "hostagent profile show tao-7.1")
)
def command() -> None:
    """List, show, start and validate profiles."""


@command.command("list", epilog=examples("hostagent profile list"))
def list_profiles() -> None:
    """List the built-in profiles."""
    rows = [(name, profile.load(name, site_file="").profile.description) for name in files.names()]
    width = max(len(name) for name, _ in rows)
    say(*(f"{name:<{width}}  {description}" for name, description in rows))
    say("", f"A site file {profile.SITE_FILE} is laid over the chosen profile. 'hostagent profile init' starts a profile of your own.")


@command.command(
    "show",
    epilog=examples(
        "hostagent profile show", "hostagent profile show tao-7.1 --format yaml > new.yaml", "hostagent profile show mine.yaml"
    ),
)
@click.argument("name", default="", envvar=PROFILE, shell_complete=completed("profiles"))
@click.option("--format", "form", type=click.Choice(["text", "json", "yaml"]), default="text", show_default=True, help="Output.")
@json_option
def show_profile(name: str, form: str, as_json: bool) -> None:
    """Print every effective value of NAME (default: what 'check' would use) and where it comes from.

    With --format yaml, as a profile that gives the same values again.
    """
    loaded = desired(name, any_owner=True)
    warn(loaded.warnings)
    if as_json or form == "json":
        put(json.dumps({"profile": plain(loaded.profile), "hash": loaded.digest, "origin": dict(loaded.origins)}, indent=1) + "\n")
    elif form == "yaml":
        from hostagent.profiles.written import as_yaml

        put(as_yaml(loaded.profile))
    else:
        _show(loaded)


def _show(loaded: profile.Loaded) -> None:
    values = dict(_leaves(plain(loaded.profile), ""))
    width = max(len(path) for path in values)
    shown = {path: json.dumps(value, ensure_ascii=False) for path, value in values.items()}
    middle = min(40, max(len(text) for text in shown.values()))
    say(*(f"{path:<{width}}  {text:<{middle}}  # {loaded.value_origin(path)}" for path, text in shown.items()))


@command.command(
    "init", epilog=examples("hostagent profile init", "hostagent profile init -o new.yaml && hostagent profile validate new.yaml")
)
@output_option("Write to FILE, which must not exist; - is standard output, the default.")
def init_profile(output: str) -> None:
    """Start a profile: every key with its default value and what it means, as YAML.

    It extends 'default': delete what you do not change, and it stays as 'default' has it.
    """
    from hostagent.profiles.written import template

    is_file = output not in ("", STANDARD)
    if is_file and not is_absent(output) and not output.startswith("/dev/"):
        raise HostagentError(f"{output} exists, and may be somebody's profile", "Name another file, or remove this one")
    name = os.path.splitext(os.path.basename(output))[0] if is_file else "mine"
    write(template(name, __version__), output)


@command.command("validate", epilog=examples("hostagent profile validate mine.yaml", "cat mine.yaml | hostagent profile validate -"))
@click.argument("path", type=click.Path(exists=True, allow_dash=True), metavar="FILE")
def validate_profile(path: str) -> None:
    """Check a profile file: keys, types, constraints, and that every check it names exists.

    It may be a stranger's: nothing that it names is imported. What belongs to another catalogue than hostagent's own is named
    instead, and not verified.
    """
    loaded = desired(profile.file_name(path), site_file="", any_owner=True)
    others = [name for name in loaded.profile.catalogues if name != catalogue.OURS]
    checks = catalogue.load(name for name in loaded.profile.catalogues if name == catalogue.OURS)
    fitted = catalogue.refuse_unknown_ids(checks, catalogue.without_catalogues(loaded, others))
    warn(fitted.warnings)
    say(f"{'standard input' if path == STANDARD else path}: valid, profile {loaded.profile.name}, hash {loaded.digest}")
    for name in others:
        say(f"not verified: the catalogue {name}, and what 'checks' says of its checks; 'hostagent checks list --profile FILE' imports it")


def _leaves(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _leaves(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", item
