"""``hostagent nccl``."""

import math
from typing import TYPE_CHECKING

import click

from hostagent.cli import SETTINGS, Group, examples, ncclenv
from hostagent.cli.options import STANDARD, color_option, colour_wanted, terminal_width
from hostagent.cli.outputs import deliver_all, one_form, outputs
from hostagent.errors import did_you_mean
from hostagent.sinks.nccl import FORMATS, Format, render_explanation
from hostagent.vocabulary import NCCL_VERDICTS

if TYPE_CHECKING:
    from hostagent.nccl.explanation import Explanation

_EXPLAIN = examples(
    "hostagent nccl explain job.log",
    "hostagent nccl explain logs/ --format json",
    "cat job.log | hostagent nccl explain - --require rdma_gdr,rdma_gdr_unknown",
)


@click.group("nccl", cls=Group, context_settings=SETTINGS, epilog=examples("hostagent nccl explain job.log", "hostagent nccl env --reports reports/"))
def command() -> None:
    """Say from a job's log which network NCCL used, and what a job should be given."""


command.add_command(ncclenv.command)


@command.command("explain", context_settings=SETTINGS, epilog=_EXPLAIN)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@click.option("--format", "form", type=click.Choice(FORMATS), show_default="text", help="Output.")
@click.option("--json", "as_json", is_flag=True, help="Short for --format json.")
@click.option("--require", "required", default="", help="Verdicts, with commas: exit 0 with one of them alone.", metavar="VERDICT,...")
@click.option("-o", "--output", default="", type=click.Path(), help="Write to FILE; - is standard output, the default.", metavar="FILE")
@color_option
def explain(logs: tuple[str, ...], form: Format | None, as_json: bool, required: str, output: str, colour: str) -> int:
    """Say from the logs of one job whether NCCL used RDMA with GPUDirect, and if not, why.

    LOG is a file, a .gz, a directory of them, or - for standard input; all together are one job. Exit 0: RDMA, TCP by a plug-in that is
    made for it, or a job within one host; with --require, one of those verdicts. 1: anything else. 2: usage, or an unreadable log.
    """
    from hostagent.nccl.explanation import is_good

    named: dict[str, Format] = {**({f"--format {form}": form} if form else {}), **({"--json": "json"} if as_json else {})}
    verdicts, wanted = _verdicts(required), outputs(one_form(named, "text"), output, (), FORMATS)
    if logs.count(STANDARD) > 1:
        raise click.UsageError("found - several times, wanted standard input at most once")
    found, width = _explained(logs), terminal_width()
    deliver_all(wanted, lambda kind, path: render_explanation(found, kind, colour=colour_wanted(path, colour), width=width), math.inf)
    return 0 if is_good(found.verdict, verdicts) else 1


def _explained(logs: tuple[str, ...]) -> "Explanation":
    from hostagent.cli.logs import read_logs
    from hostagent.nccl.explanation import Job

    job = Job()
    for file, block in read_logs(logs):
        job.read(file, block)
    return job.explain()


def _verdicts(text: str) -> tuple[str, ...]:
    """Those of ``--require``; raises ``click.UsageError`` for a word that is none."""
    found = tuple(word.strip() for word in text.split(",") if word.strip())
    for word in found:
        if word not in NCCL_VERDICTS:
            hint = did_you_mean(word, NCCL_VERDICTS)
            raise click.UsageError(f"found --require {word!r:.60}, wanted some of {', '.join(NCCL_VERDICTS)}{hint}")
    return found
