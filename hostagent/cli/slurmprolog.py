"""``hostagent slurm prolog``. With a fresh verdict it reads two files, and imports no collector."""

import os
import time
from typing import Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import Seconds
from hostagent.cli.slurmoptions import OptionError, Options, boot_id, check_node, parse_options, refusal_code, slurm_options
from hostagent.cli.streams import complain
from hostagent.slurm.programs import prolog, spool, verdict
from hostagent.slurm.programs.logline import log_line

_WORDS = ("refuse", "allow")


@click.command(
    "prolog",
    context_settings=SETTINGS,
    epilog=examples("hostagent slurm prolog --dry-run", "SLURM_JOB_NUM_NODES=2 hostagent slurm prolog --dry-run --on-unknown allow"),
)
@click.option(
    "--scope",
    type=click.Choice(["auto", "single", "multi"]),
    default="auto",
    show_default=True,
    help="The verdict that counts. auto: multi for a job of several nodes.",
)
@click.option(
    "--refresh-deadline",
    default=10.0,
    show_default=True,
    type=Seconds(0.5, 300),
    help="Seconds for the check where no fresh verdict is there.",
    metavar="S",
)
@click.option(
    "--on-unknown",
    type=click.Choice(_WORDS),
    default="refuse",
    show_default=True,
    help="If the verdict is unknown. refuse drains the node.",
)
@click.option(
    "--on-own-fault",
    type=click.Choice(_WORDS),
    default="allow",
    show_default=True,
    help="If hostagent itself, its profile or its catalogue fails. refuse may drain all nodes.",
)
@refusal_code
@slurm_options
def command(scope: str, refresh_deadline: float, on_unknown: Any, on_own_fault: Any, refusal_code: int, **where: Any) -> int:
    """Prolog of Slurm: accept or refuse the job.

    Reads the fresh verdict of the daemon or of the last run. Without one, or if it is unknown, checks the host once. Runs no command of
    Slurm.

    Exit 0: the job may start. --refusal-code: it may not, and Slurm drains the node. 2: usage. With --dry-run always 0.
    """
    options = parse_options(**where)
    asks_gpus = bool(os.environ.get(prolog.JOB_GPUS, ""))
    rules = prolog.Rules(prolog.scope_of(scope, os.environ), asks_gpus, on_unknown, on_own_fault)
    job = os.environ.get(prolog.JOB_ID, "")
    files, problem = (None, "") if options.is_dry else spool.opened(options.state_dir, options.node)
    if files and job:
        problem = prolog.note_begin(files, job)

    found = prolog.answer(_fresh(options), lambda: check_node(options, "prolog", refresh_deadline), rules, files)
    if found.is_refused and not options.is_dry:
        problem = "; ".join(filter(None, (problem, spool.mark(files, "prolog", found.reason))))
    if problem:
        log_line(f"prolog: {problem}")
    if found.line:
        write = complain if options.is_dry else log_line
        write(f"prolog: {f'job {job} ' if job else ''}{found.line}")
    if options.is_dry:
        from hostagent.cli.streams import say

        say(f"would {'refuse' if found.is_refused else 'let in'} a job of scope {rules.scope} on {options.node}")
        return 0
    return refusal_code if found.is_refused else 0


def _fresh(options: Options) -> verdict.NodeVerdict | None:
    """None also where the recording does not load: the check says so."""
    try:
        return verdict.fresh(options.state_dir, options.node, boot_id(options), time.time())
    except OptionError:
        return None
