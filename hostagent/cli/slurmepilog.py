"""``hostagent slurm epilog``."""

import os
import time
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.slurmoptions import RUN, Asked, asked, slurm_options
from hostagent.cli.slurmprolog import refusal_code
from hostagent.errors import HostagentError, OutOfTime
from hostagent.slurm.say import say

if TYPE_CHECKING:
    from hostagent.slurm.epilog import Look
    from hostagent.slurm.spool import Spool
    from hostagent.slurm.window import HostFault

#: How much of the time reading the host may take.
_READING = 0.8


@click.command(
    "epilog",
    context_settings=SETTINGS,
    epilog=examples("SLURM_JOB_START_TIME=$(date -d '1 hour ago' +%s) hostagent slurm epilog --dry-run"),
)
@refusal_code
@slurm_options
def command(refusal_code: int, **where: Any) -> int:
    """Epilog of Slurm: say whether the host failed the job.

    Looks in the kernel log and in the daemon's history for critical faults of the job's GPUs since the job began. What is unknown or
    degraded is none. Runs no command of Slurm.

    Exit 0: no such fault. --refusal-code: there was one; Slurm drains the node, and may run the job again elsewhere at once. 2: usage.
    With --dry-run always 0.
    """
    from hostagent.slurm import epilog, prolog
    from hostagent.slurm.spool import Spool

    options = asked(**where)
    job = os.environ.get(prolog.JOB_ID, "")
    name, spool = f"epilog{f': job {job}' if job else ''}", Spool(options.state_dir, options.node)
    begin = epilog.begin_of(spool, job, os.environ)
    if not epilog.is_time(begin):
        say(f"{name}: the begin of the job is not known, so nothing is said of it: our prolog notes it")
        return 0
    try:
        found = _looked(options, begin, os.environ.get(epilog.JOB_GPUS, ""))
    except HostagentError as error:
        say(f"{name}: nothing is said of the job, hostagent itself failed: {error}")
        return 0
    except OutOfTime:
        say(f"{name}: nothing is said of the job: the host was not read in {options.deadline_s:g} s")
        return 0
    finally:
        if job and not options.is_dry:
            spool.forget_job(job)
    if found.gap:
        say(f"{name}: the kernel log is not known: {found.gap}")
    return _told(found, options, name, refusal_code)


def _looked(options: Asked, begin: float, numbers: str) -> "Look":
    from hostagent.cli.daemon import KEPT
    from hostagent.cli.options import prepared_for
    from hostagent.deadline import time_limit
    from hostagent.slurm import epilog

    is_default = options.state_dir == os.path.abspath(f"{options.place.host_root}{RUN}")
    folders = (options.state_dir, *((os.path.abspath(f"{options.place.host_root}{KEPT}"),) if is_default else ()))
    left_s = max(0.1, options.ends - time.monotonic())
    with time_limit(left_s):
        prepared = prepared_for(options.place, options.profile_name)
        return epilog.look(options.place._replace(deadline_s=left_s * _READING), prepared, begin, numbers, folders)


def _told(found: "Look", options: Asked, name: str, code: int) -> int:
    first = next(iter(found.faults), None)
    if options.is_dry:
        from hostagent.cli.streams import say as printed

        printed(f"would say that {'the host failed the job' if first else 'the host did not fail the job'} on {options.node}")
        if not first:
            return 0
    if not first:
        return 0
    from hostagent.slurm.reason import PREFIX, reason_text

    reason = reason_text(*first)
    more = f" (and {len(found.faults) - 1} more)" if len(found.faults) > 1 else ""
    say(f"{name}: the host failed it: {reason.removeprefix(PREFIX).strip()}{more}")
    if options.is_dry:
        return 0
    for problem in _written(first, found.boot_id, options, reason):
        say(f"{name}: {problem}")
    return code


def _written(fault: "HostFault", boot_id: str, options: Asked, reason: str) -> list[str]:
    """The verdict and the marker; why they are not, as sentences."""
    from hostagent.slurm import epilog, prolog, verdict
    from hostagent.slurm.judging import interval_s

    spool, problem = prolog.opened(options.state_dir, options.node)
    problems = [problem]
    if spool:
        known = verdict.fresh(options.state_dir, options.node, boot_id, time.time())
        made = epilog.verdict_of(fault, known, 2 * interval_s(options.slurm_conf) + options.deadline_s)
        problems.append(_saved(spool, epilog.text_of(made, options.node, boot_id)))
    problems.append(prolog.mark(spool, "epilog", reason))
    return [one for one in problems if one]


def _saved(spool: "Spool", text: str) -> str:
    try:
        spool.save_verdict(text)
    except OSError as error:
        return f"no verdict is left for health: {error}"
    return ""
