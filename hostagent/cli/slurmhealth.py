"""``hostagent slurm health``."""

import time
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, examples, streams
from hostagent.cli.slurmoptions import Asked, asked, boot_id, examined, slurm_options

if TYPE_CHECKING:
    from hostagent.slurm.spool import Spool
    from hostagent.slurm.verdict import NodeVerdict

#: Seconds between the end of the last command of Slurm and the end of the program.
_END_S = 0.5


@click.command(
    "health",
    short_help="HealthCheckProgram: drain this node while it is not ready.",
    context_settings=SETTINGS,
    epilog=examples("hostagent slurm health --dry-run"),
)
@click.option(
    "--scope", type=click.Choice(["single", "multi"]), default="single", show_default=True, help="The verdict that drains the node."
)
@slurm_options
def command(scope: Any, **given: Any) -> int:
    """HealthCheckProgram of Slurm: drain this node while it is not ready for GPU jobs, and resume it when its fault has gone.

    A daemon's fresh verdict is taken; without one, the host is checked. Only a drain with a reason of hostagent is changed
    or cleared. Exit 0, also where nothing could be done: the system log says why. 2: usage, a --profile or --from that does not load.
    """
    from hostagent.deadline import time_limit
    from hostagent.errors import HostagentError, OutOfTime
    from hostagent.slurm.client import SlurmError
    from hostagent.slurm.say import say
    from hostagent.smallfile import reason

    options = asked(**given)
    try:
        with time_limit(options.deadline_s):
            _run(options, scope)
    except HostagentError as error:
        say(f"{options.node}: nothing is written to Slurm: {error}")
    except OutOfTime:
        say(f"{options.node}: nothing more is written to Slurm: {options.deadline_s:g} s have passed")
    except SlurmError as error:
        say(f"{options.node}: {error}")
    except OSError as error:
        say(f"{options.node}: nothing is written to Slurm, because {options.state_dir} cannot be used: {reason(error)}")
    return 0


def _run(options: Asked, scope: Any) -> None:
    from hostagent.slurm.client import Client
    from hostagent.slurm.health import Run, run
    from hostagent.slurm.judging import interval_s
    from hostagent.slurm.say import say
    from hostagent.slurm.spool import Spool

    spool = Spool(options.state_dir, options.node) if options.is_dry else Spool.open(options.state_dir, options.node)
    run(
        Run(
            spool,
            scope,
            Client(options.bin_dir, options.slurm_conf, options.ends - _END_S),
            lambda spool: _verdict(options, spool),
            lambda: interval_s(options.slurm_conf),
            options.is_dry,
            streams.say if options.is_dry else say,
        )
    )


def _verdict(options: Asked, spool: "Spool") -> "NodeVerdict":
    """A daemon's, or what our epilog has found since; else that of a check now, which is left for the prolog."""
    from hostagent.slurm.judging import interval_s
    from hostagent.slurm.verdict import keep, of_programs, of_watching_daemon

    boot, now = boot_id(options), time.time()
    daemons = of_watching_daemon(options.state_dir, boot, now)
    if daemons:
        own = of_programs(options.state_dir, options.node, boot, now)
        return own if own and own.author == "epilog" and own.observed_at > daemons.observed_at else daemons
    valid_for_s = 2 * interval_s(options.slurm_conf) + options.deadline_s
    found = examined(options, "health", valid_for_s)
    if not options.is_dry:
        from hostagent.slurm.say import say
        from hostagent.smallfile import reason

        try:
            return keep(spool, found.verdict, found.text)
        except OSError as error:
            say(f"{options.node}: the verdict is not kept for the prolog: {reason(error)}")
    return found.verdict
