"""``hostagent profile``: list, show, validate."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import click

from hostagent import catalogue, profile
from hostagent.cli.options import warn
from hostagent.cli.streams import put, say
from hostagent.evaluate import params
from hostagent.profiles import files
from hostagent.typed import plain


@click.group("profile", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """List, show and validate profiles."""


@command.command("list")
def list_profiles() -> None:
    """List the built-in profiles."""
    rows = [(name, profile.load(name, site_file="").profile.description) for name in files.names()]
    width = max(len(name) for name, _ in rows)
    say(*(f"{name:<{width}}  {description}" for name, description in rows))
    say("", f"A site file {profile.SITE_FILE} is laid over the chosen profile.")


@command.command("show")
@click.argument("name", default="")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output.")
def show_profile(name: str, form: str) -> None:
    """Print every effective value of NAME (default: what 'check' would use) and where it comes from."""
    loaded = profile.load(name, anybodys=True)
    warn(loaded.warnings)
    values = dict(_leaves(plain(loaded.profile), ""))
    if form == "json":
        put(json.dumps({"profile": plain(loaded.profile), "hash": loaded.digest, "origin": dict(loaded.origins)}, indent=1) + "\n")
        return
    width = max(len(path) for path in values)
    shown = {path: json.dumps(value, ensure_ascii=False) for path, value in values.items()}
    middle = min(40, max(len(text) for text in shown.values()))
    say(*(f"{path:<{width}}  {text:<{middle}}  # {loaded.value_origin(path)}" for path, text in shown.items()))


@command.command("validate")
@click.argument("path", type=click.Path(exists=True))
def validate_profile(path: str) -> None:
    """Check a profile file: keys, types, constraints, and that every check it names exists.

    It may be a stranger's: nothing that it names is imported. What belongs to another catalogue than hostagent's own is named
    instead, and not verified.
    """
    loaded = profile.validate(path)
    digest = loaded.digest
    others = [name for name in loaded.profile.catalogues if name != catalogue.OURS]
    checks = catalogue.load(name for name in loaded.profile.catalogues if name == catalogue.OURS)
    loaded = catalogue.refuse_unknown_ids(checks, _without(loaded, others))
    warn(loaded.warnings)
    for one in checks:
        policy = loaded.profile.checks.get(one.id)
        if policy and policy.params:
            params(one, policy)
    say(f"{path}: valid, profile {loaded.profile.name}, hash {digest}")
    for name in others:
        say(f"not verified: the catalogue {name}, and what 'checks' says of its checks; 'hostagent checks list --profile FILE' imports it")


def _without(loaded: profile.Loaded, catalogues: list[str]) -> profile.Loaded:
    """Without what is said of the checks of these catalogues, whose ids begin with their names."""
    ours = {name: policy for name, policy in loaded.profile.checks.items() if name.partition(".")[0] not in catalogues}
    return loaded._replace(profile=replace(loaded.profile, checks=ours))


def _leaves(value: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        if isinstance(item, dict) and item:
            yield from _leaves(item, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", item
