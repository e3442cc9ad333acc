"""``hostagent slurm clean``."""

from collections.abc import Callable
from typing import Any

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.slurmoptions import parse_options, slurm_options
from hostagent.cli.streams import say
from hostagent.core.errors import HostagentError


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    return slurm_options(command, click.option("--node", default="", help="One node. Default: all of the cluster.", metavar="NAME"))


@click.command(
    "clean",
    short_help="Remove what hostagent has written to nodes.",
    context_settings=SETTINGS,
    epilog=examples("hostagent slurm clean --help"),
)
@_options
def command(node: str, **given: Any) -> int:
    """Resume the nodes that hostagent has drained, and remove its comments and its Extra. What others have set stays.

    Take HealthCheckProgram out of slurm.conf first: it writes again. No host is read: --profile and options for a host or a state
    directory are accepted as in the other three commands, and ignored.

    Exit 0: nothing of hostagent remains. 1: something remains, or would be removed. 2: usage, or Slurm did not answer.
    """
    from hostagent.slurm.client import Client, SlurmError
    from hostagent.slurm.programs.clean import clean

    options = parse_options(node=node, **given)
    client = Client(options.bin_dir, options.slurm_conf)  # a large cluster takes its time; each command has 5 s
    try:
        nodes = (client.show(options.node),) if node else client.show_all()
    except SlurmError as error:
        raise HostagentError(str(error), "--slurm-conf and --bin-dir say where Slurm is") from error
    done = clean(client, nodes, is_dry=options.is_dry)
    say(*(one.line for one in done if one.line))
    if all(one.is_clean for one in done):
        say("nothing of hostagent is left")
        return 0
    return 1
