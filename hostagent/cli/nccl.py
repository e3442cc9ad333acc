"""``hostagent nccl``."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, Group, examples, ncclenv
from hostagent.cli.options import (
    DEADLINE,
    Command,
    color_option,
    colour_wanted,
    evidence,
    one_standard_input,
    prepared_for,
    profile_option,
    terminal_width,
)
from hostagent.cli.outputs import deliver_all, one_form, output_option, outputs
from hostagent.core.errors import did_you_mean
from hostagent.core.vocabulary import NCCL_VERDICTS
from hostagent.outputs.job_log import FORMATS, Format, render_explanation

if TYPE_CHECKING:
    from hostagent.domains.nccl.logs.explanation import Explanation
    from hostagent.engine.report import Report

_EXPLAIN = examples(
    "hostagent nccl explain job.log",
    "hostagent nccl explain logs/ --format json",
    "cat job.log | hostagent nccl explain - --require rdma_gdr,rdma_gdr_unknown",
    "hostagent nccl explain job.log --from host.json",
)
#: Where the findings of a host come from.
_HOSTS = (
    click.option("--this-host", is_flag=True, help="Check this machine, too, and name its findings that explain the log."),
    click.option(
        "--from",
        "snapshot",
        type=click.Path(exists=True, allow_dash=True),
        help="A recorded host instead: snapshot file or directory, - for standard input.",
        metavar="SNAPSHOT",
    ),
    click.option(
        "--reports",
        multiple=True,
        help="Reports of hosts instead (check --format json): a file, a directory, - for standard input; may be given several times.",
        metavar="FILE",
    ),
    profile_option("What --this-host and --from are judged by: a built-in profile, or a file. Default: as 'hostagent check'."),
    DEADLINE,
)


def _host_options(command: Command) -> Command:
    for option in reversed(_HOSTS):
        command = option(command)
    return command


@click.group(
    "nccl", cls=Group, context_settings=SETTINGS, epilog=examples("hostagent nccl explain job.log", "hostagent nccl env --reports reports/")
)
def command() -> None:
    """Find which network NCCL used in a job's log, and print the settings that a job needs."""


command.add_command(ncclenv.command)


@command.command("explain", context_settings=SETTINGS, epilog=_EXPLAIN)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--require", "required", default="", help="Verdicts, with commas: exit 0 only with one of them.", metavar="VERDICT,...")
@output_option()
@_host_options
@color_option
def explain(logs: tuple[str, ...], form: Format | None, as_json: bool, required: str, output: str, colour: str, **where: Any) -> int:
    """Find in the logs of one job whether NCCL used RDMA with GPUDirect, and if not, why.

    LOG is a file, a .gz, a directory of them, or - for standard input; all together are one job. A host is read only with --this-host or
    --from, and changes neither the verdict nor the exit code. Exit 0: RDMA, TCP by a plug-in that is made for it, or a job within one
    host; with --require, one of those verdicts. 1: anything else. 2: usage, or an unreadable log.
    """
    from hostagent.domains.nccl.logs.explanation import is_good

    named: dict[str, Format] = {**({f"--format {form}": form} if form else {}), **({"--json": "json"} if as_json else {})}
    verdicts, wanted = _verdicts(required), outputs(one_form(named, "text"), output, (), FORMATS)
    profile_name = where["profile_name"] if where["this_host"] or where["snapshot"] else None  # read for no other
    one_standard_input({"--from": where["snapshot"], "--profile": profile_name}, {"LOG": logs, "--reports": where["reports"]})
    found, width = _explained(logs, _reports(**where)), terminal_width()
    deliver_all(wanted, lambda kind, path: render_explanation(found, kind, colour=colour_wanted(path, colour), width=width), math.inf)
    return 0 if is_good(found.verdict, verdicts) else 1


def _explained(logs: tuple[str, ...], reports: "tuple[Report, ...]") -> "Explanation":
    from hostagent.cli.logs import read_logs
    from hostagent.domains.nccl.logs.explanation import Job

    job = Job()
    for file, block in read_logs(logs):
        job.read(file, block)
    found = job.explain()
    if not reports:
        return found
    from hostagent.engine.catalogue import OURS, explaining, load
    from hostagent.engine.report.log_correlation import joined

    return joined(found, reports, job.hosts, explaining(load([OURS])))


def _reports(
    *, this_host: bool, snapshot: str | None, reports: tuple[str, ...], profile_name: str, deadline_s: float
) -> "tuple[Report, ...]":
    """Reports of the hosts that the options name; reads nothing without such an option."""
    asked = {"--this-host": this_host, "--from": snapshot is not None, "--reports": bool(reports)}
    named = [flag for flag, is_asked in asked.items() if is_asked]
    if len(named) > 1:
        raise click.UsageError(f"found {' and '.join(named)}, wanted at most one of them")
    if reports:
        from hostagent.cli.reports import read_reports
        from hostagent.engine.report.log_correlation import as_report

        return tuple(replace(as_report(*one), facts={}) for one in read_reports(reports))
    if not named:
        return ()
    from hostagent.engine import pipeline
    from hostagent.engine.target import open_host

    place = evidence(None, None, "", snapshot, deadline_s)
    with open_host(place) as reading:
        return (pipeline.examine(reading, prepared_for(place, profile_name)),)


def _verdicts(text: str) -> tuple[str, ...]:
    """Those of ``--require``; raises ``click.UsageError`` for a word that is none."""
    found = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in found:
        if word not in NCCL_VERDICTS:
            hint = did_you_mean(word, NCCL_VERDICTS)
            raise click.UsageError(f"found --require {word!r:.60}, wanted some of {', '.join(NCCL_VERDICTS)}{hint}")
    return found
