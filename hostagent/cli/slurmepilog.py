"""``hostagent slurm epilog``."""

import json
import os
import time
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.slurmoptions import Options, parse_options, refusal_code, slurm_options
from hostagent.core.errors import HostagentError, OutOfTime
from hostagent.slurm.programs.logline import log_line

if TYPE_CHECKING:
    from hostagent.slurm.programs.epilog import Look

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
    """Epilog of Slurm: report whether the host failed the job.

    Looks in the kernel log and in the daemon's history for critical faults of the job's GPUs since the job began. Unknown and degraded do
    not count. Runs no command of Slurm.

    Exit 0: no such fault. --refusal-code: there was one; Slurm drains the node, and may run the job again elsewhere at once. 2: usage.
    With --dry-run always 0.
    """
    from hostagent.slurm.programs import epilog, prolog
    from hostagent.slurm.programs.spool import Spool

    options = parse_options(**where)
    job = os.environ.get(prolog.JOB_ID, "")
    name, spool = f"epilog{f': job {job}' if job else ''}", Spool(options.state_dir, options.node)
    begin = epilog.begin_of(spool, job, os.environ)
    if not begin:
        log_line(f"{name}: the begin of the job is not known, so nothing is said of it: our prolog notes it")
        return 0
    try:
        found = _find_faults(options, begin, os.environ.get(prolog.JOB_GPUS, ""))
    except HostagentError as error:
        log_line(f"{name}: nothing is said of the job, hostagent itself failed: {error}")
        return 0
    except OutOfTime:
        log_line(f"{name}: nothing is said of the job: the host was not read in {options.deadline_s:g} s")
        return 0
    finally:
        if job and not options.is_dry:
            spool.forget_job(job)
    if found.gap:
        log_line(f"{name}: the kernel log is not known: {found.gap}")
    return _report(found, options, name, refusal_code)


def _find_faults(options: Options, begin: float, numbers: str) -> "Look":
    from hostagent.cli.options import prepared_for
    from hostagent.core.deadline import time_limit
    from hostagent.daemon.settings import KEPT
    from hostagent.slurm.programs import epilog

    folders = (options.state_dir, *((os.path.abspath(f"{options.place.host_root}{KEPT}"),) if options.is_default_state else ()))
    left_s = max(0.1, options.ends - time.monotonic())
    with time_limit(left_s):
        prepared = prepared_for(options.place, options.profile_name)
        return epilog.look(options.place._replace(deadline_s=left_s * _READING), prepared, begin, numbers, folders)


def _report(found: "Look", options: Options, name: str, code: int) -> int:
    if options.is_dry:
        from hostagent.cli.streams import say

        say(f"would say that {'the host failed the job' if found.faults else 'the host did not fail the job'} on {options.node}")
    if not found.faults:
        return 0
    from hostagent.slurm.reason import PREFIX, reason_text

    reason = reason_text(*found.faults[0])
    more = f" (and {len(found.faults) - 1} more)" if len(found.faults) > 1 else ""
    log_line(f"{name}: the host failed it: {reason.removeprefix(PREFIX).strip()}{more}")
    if options.is_dry:
        return 0
    for problem in _save(found, options, reason):
        log_line(f"{name}: {problem}")
    return code


def _save(found: "Look", options: Options, reason: str) -> list[str]:
    """Saves the verdict and the evidence of this refusal; returns errors as sentences."""
    from hostagent.core import smallfile
    from hostagent.slurm.programs import epilog, spool, verdict
    from hostagent.slurm.programs.interval import valid_for_s

    files, problem = spool.opened(options.state_dir, options.node)
    problems = [problem]
    if files:
        known = verdict.fresh(options.state_dir, options.node, found.boot_id, time.time())
        holds_s = valid_for_s(options.slurm_conf, options.deadline_s)
        document = epilog.document(found.faults[0], known, options.node, found.boot_id, holds_s)
        try:
            files.save_verdict(json.dumps(document, indent=1) + "\n")
        except OSError as error:
            problems.append(f"no verdict is left for health: {smallfile.reason(error)}")
    problems.append(spool.mark(files, "epilog", reason))
    return [one for one in problems if one]
