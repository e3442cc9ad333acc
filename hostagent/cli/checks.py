"""``hostagent checks``: list them, explain one."""

import json

import click

from hostagent import catalogue, profile
from hostagent.check import Check
from hostagent.cli.options import warn
from hostagent.cli.streams import put, say
from hostagent.errors import HostagentError

_SETTINGS = {"help_option_names": ["-h", "--help"]}
_PROFILE = click.option("--profile", "profile_name", default="", help="The profile whose catalogues are meant.", metavar="P")


@click.group("checks", context_settings=_SETTINGS)
def command() -> None:
    """List the checks, explain one."""


@command.command("list")
@_PROFILE
@click.option("--installed", is_flag=True, help="Catalogues that installed packages announce, whether a profile names them or not.")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Output.")
def list_checks(profile_name: str, installed: bool, form: str) -> None:
    """List every check of the profile's catalogues: id, severity, healthy condition."""
    if installed:
        _list_installed()
        return
    loaded = profile.load(profile_name)
    warn(loaded.warnings)
    checks = catalogue.load(loaded.profile.catalogues)
    if form == "json":
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


@command.command("show")
@click.argument("check_id", metavar="ID")
@_PROFILE
def show_check(check_id: str, profile_name: str) -> None:
    """Explain one check: what it means, what it reads, what to do, which numbers a profile may change."""
    from hostagent.catalogue_pages import render_page

    loaded = profile.load(profile_name)
    warn(loaded.warnings)
    checks = {one.id: one for one in catalogue.load(loaded.profile.catalogues)}
    if check_id not in checks:
        raise HostagentError(f"found no check {check_id!r}{_nearest(check_id, checks)}", "Run 'hostagent checks list'")
    say(*render_page(checks[check_id]).removesuffix("\n").split("\n"))


def _nearest(check_id: str, checks: dict[str, Check]) -> str:
    import difflib

    close = difflib.get_close_matches(check_id, checks, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
