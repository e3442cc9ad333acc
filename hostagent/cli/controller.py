"""``hostagent controller``."""

import re
import signal
from typing import Any, Literal

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.options import Seconds
from hostagent.cli.streams import complain

#: Seconds: a healthy agent's heartbeats are at most so far apart, with the pauses after failures.
_LONGEST_GAP_S = 750
_PREFIX = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@click.command("controller", context_settings=SETTINGS, epilog=examples("hostagent controller --kubeconfig admin.conf --dry-run"))
@click.option("--kubeconfig", default="", type=click.Path(), help="Default: the pod's own account, else as kubectl.", metavar="FILE")
@click.option("--context", default="", help="Of the kubeconfig. Default: the current one.", metavar="NAME")
@click.option(
    "--node-selector", default="", help="Label selector of the nodes. Default: nvidia.com/gpu.present=true, or PREFIX/ready.", metavar="S"
)
@click.option(
    "--stale-after",
    default=900.0,
    show_default=True,
    type=Seconds(5, 86400),
    help="Seconds without a heartbeat after which a node is closed.",
    metavar="S",
)
@click.option("--max-silent", default="20%", show_default=True, help="Nodes that silence may close: a number or a percentage.", metavar="N")
@click.option("--max-tainted", default="50%", show_default=True, help="Nodes that may be tainted: a number or a percentage.", metavar="N")
@click.option(
    "--taints",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="auto: those that no rule of node-readiness-controller owns. on: look at no rules. off: set and remove none.",
)
@click.option(
    "--multi-node-taint", type=click.Choice(["on", "off"]), default="on", show_default=True, help="The taint for jobs on several nodes."
)
@click.option("--dry-run", is_flag=True, help="Write nothing: log and count what would be written.")
@click.option("--no-leader-elect", is_flag=True, help="Take no Lease: this is the only controller.")
@click.option("--namespace", default="hostagent", show_default=True, help="Of the Lease.", metavar="NS")
@click.option(
    "--listen", default="127.0.0.1:9477", show_default=True, help="Serve HTTP at this address; '' is off.", metavar="ADDRESS:PORT"
)
@click.option("--prefix", default="hostagent.dev", show_default=True, help="The agents' prefix of names.", metavar="DOMAIN")
@click.option("--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Lines on standard error.")
def command(kubeconfig: str, context: str, listen: str, log_format: Literal["text", "json"], **given: Any) -> int:
    """Keep work away from nodes that are not ready, and from nodes whose agent is silent.

    One for a cluster, as a Deployment. SIGTERM ends it: exit 0. 2: usage, or it could not run.
    """
    from hostagent import __version__
    from hostagent.controller.loop import Controller, Page
    from hostagent.http.listening import listening
    from hostagent.kube.access import access_to
    from hostagent.kube.api import Api
    from hostagent.log import Log
    from hostagent.secret.inuse import InUse

    settings = _settings(**given)
    secrets = InUse()
    log = Log(log_format, complain).through(secrets.without)
    access = access_to(kubeconfig, context)
    access()  # a mistake in it is reported now
    http = listening(listen, "", "") if listen else None
    if settings.stale_after_s < _LONGEST_GAP_S:
        log.problem(f"--stale-after is {settings.stale_after_s:g} s: a healthy agent may be silent for {_LONGEST_GAP_S} s")
    controller = Controller(settings, lambda heard: Api(access, f"hostagent-controller/{__version__}", secrets, on_answer=heard), log)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, controller.stop)
    if http:
        from hostagent.http.server import listen as serve

        serve(http.line, Page(controller.counts), None)
    controller.run()
    return 0


def _settings(
    *, prefix: str, namespace: str, node_selector: str, max_silent: str, max_tainted: str, multi_node_taint: str, **given: Any
) -> Any:
    """Raises ``click.UsageError``."""
    from hostagent.controller.limits import parse_limit
    from hostagent.controller.settings import Settings, default_selectors

    if not _PREFIX.fullmatch(prefix) or prefix.endswith(("kubernetes.io", "k8s.io")):
        raise click.UsageError(f"found --prefix {prefix!r:.80}, wanted a domain of your own, such as hostagent.dev")
    if not _NAMESPACE.fullmatch(namespace):
        raise click.UsageError(f"found --namespace {namespace!r:.80}, wanted the name of a namespace")
    try:
        limits = parse_limit(max_silent), parse_limit(max_tainted)
    except ValueError as error:
        raise click.UsageError(f"--max-silent or --max-tainted: {error}") from None
    return Settings(
        prefix,
        (node_selector,) if node_selector else default_selectors(prefix),
        given["stale_after"],
        *limits,
        given["taints"],
        multi_node_taint == "on",
        given["dry_run"],
        not given["no_leader_elect"],
        namespace,
    )
