"""``hostagent slurm clean``."""

import time

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.slurmoptions import BIN_DIR, DEADLINE, DRY_RUN, SLURM_CONF, node_name
from hostagent.cli.streams import say
from hostagent.errors import HostagentError


@click.command(
    "clean",
    short_help="Remove what hostagent has written to nodes.",
    context_settings=SETTINGS,
    epilog=examples("hostagent slurm clean --help"),
)
@click.option("--node", default="", help="One node. Default: all of the cluster.", metavar="NAME")
@SLURM_CONF
@BIN_DIR
@DEADLINE
@DRY_RUN
def command(node: str, slurm_conf: str, bin_dir: str, deadline: float, dry_run: bool) -> int:
    """Resume the nodes that hostagent has drained, and remove its comments and its Extra. What others have set stays.

    Take HealthCheckProgram out of slurm.conf first: it writes again. Exit 0: nothing of it is left. 1: something is left, or would be
    removed. 2: usage, or Slurm did not answer.
    """
    from hostagent.slurm.clean import clean
    from hostagent.slurm.client import Client, SlurmError

    client = Client(bin_dir, slurm_conf, time.monotonic() + deadline)
    try:
        nodes = (client.show(node_name(node)),) if node else client.show_all()
    except SlurmError as error:
        raise HostagentError(str(error), "--slurm-conf and --bin-dir say where Slurm is") from error
    done = clean(client, nodes, is_dry=dry_run)
    say(*(one.line for one in done if one.line))
    if all(one.is_clean for one in done):
        say("nothing of hostagent is left")
        return 0
    return 1
