"""``hostagent daemon --print-unit``: for `hostagent.cli.daemon`, and imported only there."""

import os
import sys
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from hostagent.cli.options import STANDARD, prepared_for
from hostagent.cli.streams import complain, put
from hostagent.core import installation
from hostagent.core.errors import HostagentError
from hostagent.daemon import unit
from hostagent.http.listening import parse_address
from hostagent.profiles.layers import is_path

if TYPE_CHECKING:
    from hostagent.daemon.settings import Settings

#: Options of a single pass, which no unit has.
_SINGLE = ("once", "dry_run")
_OWN = "print_unit"


def print_unit(context: click.Context, settings: "Settings") -> int:
    """On standard output; what a site has to add itself, on standard error. `settings`: from the same options, validated."""
    if single := [f"--{name.replace('_', '-')}" for name in _SINGLE if context.params[name]]:
        raise click.UsageError(f"found --print-unit and {single[0]}, wanted the options of a daemon that stays")
    _refuse_without_cluster(settings)
    given = _options_set(context)
    prepared_for(settings.evidence, settings.profile_name)  # a mistake in it is reported now, not when the daemon starts
    way, program = installation.this()
    if not program:
        raise HostagentError("found no program that starts this copy of hostagent", unit.NEXT_STEP)
    # Their own start chooses the Python.
    own = [] if way in ("pyz", "package") else [sys.executable, f"{installation.directory()}/hostagent/__init__.py"]
    unit.refuse_untrusted(program, [program, *own], [value or "" for _, value, is_file in given if is_file])
    values = {name: value or "" for name, value, _ in given}
    options = [word for name, value, _ in given for word in ((name,) if value is None else (name, value))]
    if not {"--kubernetes", "--kubeconfig"} & values.keys():
        options = [*unit.OPTIONS, *options]
    notes = _notes(settings)
    put(unit.unit(program, options, cache=way == "pyz", settings=unit.needs(values)))
    complain(*notes)
    return 0


def _refuse_without_cluster(settings: "Settings") -> None:
    """As the daemon itself does, which looks for a pod's service account first."""
    wants = {"--kubernetes on": settings.kubernetes == "on", "--kubernetes-events": settings.kubernetes_events}
    if any(wants.values()) and not _publishes_to_kubernetes(settings):
        named = next(name for name, is_so in wants.items() if is_so)
        raise click.UsageError(f"found {named} and no cluster that is written to, wanted --kubeconfig: a service is in no pod")


def _publishes_to_kubernetes(settings: "Settings") -> bool:
    return bool(settings.kubeconfig) and settings.kubernetes != "off"


def _options_set(context: click.Context) -> "list[tuple[str, str | None, bool]]":
    """Option, value and whether that is a path, of what the caller has set; a flag has no value."""
    found: list[tuple[str, str | None, bool]] = []
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        if option.name == _OWN or source not in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
            continue
        value, name = context.params[option.name or ""], max(option.opts, key=len)
        if isinstance(option, click.Option) and option.is_flag:
            found += [(name, None, False)] if value else []
        else:
            found.append((name, *_as_text(option, value)))
    return found


def _as_text(option: click.Parameter, value: Any) -> tuple[str, bool]:
    """The service has another current directory."""
    if option.name == "profile_name":
        if value == STANDARD:
            raise click.UsageError("found --print-unit and --profile -, wanted a file: a service has no standard input")
        return (os.path.abspath(value), True) if is_path(value) else (value, False)
    if isinstance(option.type, click.Path) and value:
        return os.path.abspath(value), True
    return (f"{value:g}" if isinstance(value, float) else str(value)), False


def _notes(settings: "Settings") -> list[str]:
    """The unit reaches loopback alone, and hostagent does not know which addresses a site has."""
    address = parse_address(settings.listen) if settings.listen else None
    wanted = [f"the clients of --listen {settings.listen}"] if address and not address[0].is_loopback else []
    wanted += ["the API server of --kubeconfig"] if _publishes_to_kubernetes(settings) else []
    return [f"Add a line IPAddressAllow= with the addresses of {' and '.join(wanted)}: the unit reaches loopback alone."] if wanted else []
