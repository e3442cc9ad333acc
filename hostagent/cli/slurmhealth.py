"""``hostagent slurm health``."""

import time
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, examples, streams
from hostagent.cli.slurmoptions import OptionError, Options, boot_id, check_node, parse_options, slurm_options

if TYPE_CHECKING:
    from hostagent.slurm.programs.spool import Spool
    from hostagent.slurm.programs.verdict import NodeVerdict

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

    Uses a fresh verdict of the daemon; without one, checks the host. Changes or clears only a drain with a reason of hostagent.
    Exit 0, also where nothing could be done: the system log has the reason. 2: usage, a --profile or --from that does not load.
    """
    from hostagent.core.deadline import time_limit
    from hostagent.core.errors import HostagentError, OutOfTime
    from hostagent.core.smallfile import reason
    from hostagent.slurm.client import SlurmError
    from hostagent.slurm.programs.logline import log_line

    options = parse_options(**given)
    try:
        with time_limit(options.deadline_s):
            _run(options, scope)
    except OptionError as error:
        raise click.UsageError(str(error)) from error
    except HostagentError as error:
        log_line(f"{options.node}: nothing is written to Slurm: {error}")
    except OutOfTime:
        log_line(f"{options.node}: nothing more is written to Slurm: the time (--deadline {options.deadline_s:g}) is up")
    except SlurmError as error:
        log_line(f"{options.node}: {error}")
    except OSError as error:
        log_line(f"{options.node}: nothing is written to Slurm, because {options.state_dir} cannot be used: {reason(error)}")
    return 0


def _run(options: Options, scope: Any) -> None:
    from hostagent.slurm.client import Client
    from hostagent.slurm.programs.health import Run, run
    from hostagent.slurm.programs.interval import interval_s
    from hostagent.slurm.programs.logline import log_line
    from hostagent.slurm.programs.spool import Spool

    spool = Spool(options.state_dir, options.node) if options.is_dry else Spool.open(options.state_dir, options.node)
    run(
        Run(
            spool,
            scope,
            Client(options.bin_dir, options.slurm_conf, options.ends - _END_S),
            lambda: _verdict(options, spool),
            lambda: interval_s(options.slurm_conf),
            options.is_dry,
            streams.say if options.is_dry else log_line,
        )
    )


def _verdict(options: Options, spool: "Spool") -> "NodeVerdict":
    """The daemon's verdict, or a newer one of our epilog; else that of a check now, saved for the prolog."""
    from hostagent.slurm.programs.verdict import keep, of_programs, of_watching_daemon, parsed

    boot, now = boot_id(options), time.time()
    if daemons := of_watching_daemon(options.state_dir, boot, now):
        own = of_programs(options.state_dir, options.node, boot, now)
        return own if own and own.author == "epilog" and own.observed_at > daemons.observed_at else daemons
    document = check_node(options, "health")
    return parsed(document) if options.is_dry else keep(spool, document)
