"""``hostagent checks``: list them, explain one."""

import json
from collections.abc import Iterable

import click

from hostagent.cli import SETTINGS, Group, examples
from hostagent.cli.options import completed, desired, json_option, profile_option, warn
from hostagent.cli.streams import put, say
from hostagent.core.errors import HostagentError
from hostagent.engine import catalogue

_PROFILE = profile_option("The profile whose catalogues are meant.")


@click.group("checks", cls=Group, context_settings=SETTINGS, epilog=examples("hostagent checks list", "hostagent checks show gpu.on_bus"))
def command() -> None:
    """List the checks, explain one."""


@command.command("list", epilog=examples("hostagent checks list", "hostagent checks list --profile mine.yaml --json"))
@_PROFILE
@click.option("--installed", is_flag=True, help="Catalogues that installed packages announce, whether a profile names them or not.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output.")
@json_option
def list_checks(profile_name: str, installed: bool, form: str, as_json: bool) -> None:
    """List every check of the profile's catalogues: id, severity, healthy condition."""
    if installed:
        _list_installed()
        return
    loaded = desired(profile_name)
    warn(loaded.warnings)
    checks = catalogue.load(loaded.profile.catalogues)
    if as_json or form == "json":
        rows = [{"id": one.id, "severity": one.severity, "scope": one.scope, "title": one.title, "since": one.since} for one in checks]
        put(json.dumps(rows, indent=1) + "\n")
        return
    width = max((len(one.id) for one in checks), default=0)
    for one in checks:
        policy = loaded.profile.checks.get(one.id)
        off = "  (off)" if policy and policy.off else ""
        say(f"{one.id:<{width}}  {one.severity:<8}  {one.title}{off}")
    say("", f"{len(checks)} checks. 'hostagent checks show ID' explains one.")


def _list_installed() -> None:
    from importlib.metadata import entry_points

    for one in sorted(entry_points(group="hostagent.catalogues"), key=lambda point: point.value):
        say(one.value)


@command.command("show", epilog=examples("hostagent checks show gpu.on_bus"))
@click.argument("check_id", metavar="ID", shell_complete=completed("checks"))
@_PROFILE
def show_check(check_id: str, profile_name: str) -> None:
    """Explain one check: what it means, what it reads, what to do, which numbers a profile may change."""
    from hostagent.engine.catalogue_pages import render_page

    loaded = desired(profile_name)
    warn(loaded.warnings)
    checks = {one.id: one for one in catalogue.load(loaded.profile.catalogues)}
    if check_id not in checks:
        names = catalogue.names_of(checks.values())
        if check_id in names:
            raise HostagentError(f"no check {check_id}: it is a family", f"Name one of its checks: {', '.join(_members(check_id, checks))}")
        raise HostagentError(catalogue.no_such_check(check_id, checks), "Run 'hostagent checks list'")
    say(*render_page(checks[check_id]).removesuffix("\n").split("\n"))


def _members(family: str, checks: Iterable[str]) -> list[str]:
    return [one for one in checks if one.startswith(f"{family}.")]
