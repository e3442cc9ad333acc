"""``hostagent setup``: the flags, lines and exit codes of TAO's ``setup-nvidia-gpu-host.sh``."""

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import completed, evidence, evidence_options, prepared_for, profile_option
from hostagent.cli.setuprequest import ScriptCommand, asked_for
from hostagent.cli.streams import put, say
from hostagent.evidence import Evidence, open_host
from hostagent.setup import KINDS

if TYPE_CHECKING:
    from hostagent.app import Prepared
    from hostagent.facts.hostfacts import HostFacts
    from hostagent.reading import Reading
    from hostagent.report import Report
    from hostagent.setup.request import Request
    from hostagent.setup.told import Tools
    from hostagent.setup.verdict import Verdict

_EXAMPLES = examples(
    "hostagent setup",
    "hostagent setup --backend kubernetes --check-only",
    "hostagent setup --min-driver-version 590 --from host.json",
    "hostagent setup --from host.json --json",
    "hostagent setup --from host.json --print-preflight",
)
_SHIMS = click.Path()


@click.command("setup", cls=ScriptCommand, context_settings=SETTINGS, epilog=_EXAMPLES)
@click.option(
    "--backend",
    default="docker",
    show_default=True,
    help="What runs TAO's jobs here: docker, local-docker, kubernetes or k8s.",
    metavar="NAME",
    shell_complete=completed("backends"),
)
@click.option("--install/--check-only", "installing", default=False, help="Install what is missing, or look only. The last one counts.")
@click.option("-y", "--yes", is_flag=True, help="With --install: do not ask.")
@click.option("--min-driver-version", "driver", help="The driver, at least.", metavar="V")
@click.option("--min-cuda-version", "cuda", help="The CUDA toolkit, at least.", metavar="V")
@click.option("--min-container-toolkit-version", "toolkit", help="The Container Toolkit, at least.", metavar="V")
@click.option("--skip-docker-install", is_flag=True, help="With --install: leave out Docker itself.")
@click.option("--skip-docker-config", is_flag=True, help="With --install: leave Docker's configuration as it is.")
@click.option("--skip-docker-group", is_flag=True, help="With --install: add nobody to the group docker.")
@click.option("--exact", is_flag=True, help="Judge as TAO 7.0 does: this branch and these versions, not at least these.")
@click.option(
    "--requirements",
    type=click.Path(allow_dash=True),
    help="Minimums of a TAO model: its skill_info.yaml; - for standard input. The flags above win over it.",
    metavar="FILE",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report of 'hostagent check' as JSON, with one more object: setup.")
@click.option("--print-preflight", is_flag=True, help="Print the arguments of TAO's launch preflight that this host's facts give.")
@click.option("--write-shim", type=_SHIMS, help="Put this command in the script's place below DIR, a TAO skill bank.", metavar="DIR")
@click.option("--remove-shim", type=_SHIMS, help="Take that back, and put the script of before in its place.", metavar="DIR")
@profile_option("Built-in profile, or a file: what else hostagent knows is judged by it. Default: the site file's, else 'default'.")
@evidence_options
def command(
    as_json: bool,
    installing: bool,
    yes: bool,
    print_preflight: bool,
    write_shim: str | None,
    remove_shim: str | None,
    profile_name: str,
    host_root: str | None,
    root: str | None,
    kernel: str,
    snapshot: str | None,
    deadline_s: float,
    debug: bool,
    **asked: Any,
) -> int:
    """Say whether this host is ready for TAO, in the words of its setup-nvidia-gpu-host.sh, or make it so.

    Exit 0: all that the backend needs is there. 1: something is missing, or hostagent could not run. 2: usage.
    """
    request = asked_for(click.get_current_context(), snapshot, asked)
    place = evidence(host_root, root, kernel, snapshot, deadline_s, debug=debug)
    _refuse_two({"--install": installing, "--print-preflight": print_preflight}, {"--write-shim": write_shim, "--remove-shim": remove_shim})
    if write_shim is not None or remove_shim is not None:
        return _shims(write_shim, remove_shim, exact=asked["exact"])
    if installing:
        from hostagent.cli.setupinstall import install

        return install(request, place, profile_name, yes=yes, as_json=as_json)
    if print_preflight:
        from hostagent.setup.preflight import preflight

        say(*preflight(looked(request, place, profile_name, asking=False).facts))
        return 0
    return told(request, looked(request, place, profile_name), as_json=as_json)


def _shims(write: str | None, remove: str | None, *, exact: bool) -> int:
    from hostagent.cli.setupshim import remove_shim, write_shim

    return write_shim(write, exact=exact) if write is not None else remove_shim(remove or "")


def _refuse_two(flags: dict[str, bool], folders: "dict[str, str | None]") -> None:
    named = [flag for flag, is_asked in flags.items() if is_asked] + [flag for flag, folder in folders.items() if folder is not None]
    if len(named) > 1:
        raise click.UsageError(f"found {' and '.join(named)}, wanted one of them")
    if empty := [flag for flag, folder in folders.items() if folder == ""]:  # of a variable that is not set: never this folder instead
        raise click.UsageError(f"found {empty[0]} '', wanted a folder")


class Seen(NamedTuple):
    """What the lines are made of, beside what is asked."""

    facts: "HostFacts"
    report: "Report"
    tools: "Tools"
    prepared: "Prepared"  # what the report is judged by


def looked(request: "Request", place: Evidence, profile_name: str, *, asking: bool = True) -> Seen:
    """One pass over the host, as ``check`` makes it, and meanwhile the tools: of this machine alone, and where they are asked."""
    from hostagent.collect import READERS
    from hostagent.setup.tools import asks
    from hostagent.source.callertools import Wanted
    from hostagent.source.callertools import asked as running

    wanted = {name: Wanted(*one) for name, one in asks(request).items()} if asking and place.is_this_machine else {}
    kinds = (*READERS, *KINDS)
    with running(wanted, os.environ) as pending:
        with open_host(place, kinds) as reading:
            prepared = prepared_for(place, profile_name)
            facts, report = _judged(reading, prepared._replace(kinds=kinds))
        heard = pending.heard()
    from hostagent.setup.tools import Said, answered

    return Seen(facts, report, answered({name: Said(*one) for name, one in heard.items()}, _names(facts)), prepared)


def _judged(reading: "Reading", prepared: "Prepared") -> "tuple[HostFacts, Report]":
    """The report of ``check``: by the whole of the profile."""
    from hostagent import app

    collected = reading.collect(app.policy_of(prepared))
    return collected.facts, app.judge(collected, reading, prepared)


def _names(facts: "HostFacts") -> tuple[str, ...]:
    """What this machine may be called as a node: a kubelet takes the host's name in small letters."""
    from hostagent.facts.host import Identity
    from hostagent.facts.unread import Unread

    found = facts.of(Identity)
    name = "" if isinstance(found, Unread) or isinstance(found.hostname, Unread) else found.hostname
    return tuple(filter(None, (os.environ.get("NODE_NAME", ""), name, name.lower())))


def told(request: "Request", seen: Seen, *, as_json: bool = False) -> int:
    """The lines, or the report with them; the exit code that they mean."""
    from hostagent.setup.verdict import verdict

    return shown(request, verdict(request, seen.facts, seen.tools, seen.report), seen.report, as_json=as_json)


def shown(request: "Request", found: "Verdict", report: "Report", *, as_json: bool) -> int:
    if as_json:
        from hostagent.setup.document import document
        from hostagent.sinks.json import render_json

        put(render_json(document(request, found, report)))
    else:
        say(*map(str, found.lines))
    return found.exit
