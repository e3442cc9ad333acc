"""``hostagent controller``."""

import re
import signal
from typing import TYPE_CHECKING, Any, Literal

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.clusteroptions import CONTEXT, KUBECONFIG, NODE_SELECTOR, PREFIX, access
from hostagent.cli.options import Seconds
from hostagent.cli.streams import complain

if TYPE_CHECKING:
    from hostagent.controller.limits import Limit

#: Seconds: a healthy agent's heartbeats are 420 s apart at most, 720 s with its pauses after failures; and a pass.
_LONGEST_GAP_S = 750
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


@click.command("controller", context_settings=SETTINGS, epilog=examples("hostagent controller --kubeconfig admin.conf --dry-run"))
@KUBECONFIG
@CONTEXT
@NODE_SELECTOR
@click.option(
    "--stale-after",
    default=900,
    show_default=True,
    type=Seconds(5, 86400),
    help="Seconds without a heartbeat after which a node is closed.",
    metavar="S",
)
@click.option(
    "--max-silent",
    default="20%",
    show_default=True,
    help="Nodes that silence may close: a number or a percentage; never less than 2.",
    metavar="N",
)
@click.option(
    "--max-tainted",
    default="50%",
    show_default=True,
    help="Nodes that may be tainted: a number or a percentage; never less than 2.",
    metavar="N",
)
@click.option(
    "--taints",
    type=click.Choice(["auto", "on", "off"]),
    default="auto",
    show_default=True,
    help="auto: taints that no rule of node-readiness-controller owns. on: ignore its rules. off: set and remove none.",
)
@click.option(
    "--multi-node-taint",
    type=click.Choice(["on", "off"]),
    default="on",
    show_default=True,
    help="Whether to set the taint for jobs on several nodes.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing: log and count what would be written.")
@click.option("--no-leader-elect", is_flag=True, help="Take no Lease: this is the only controller.")
@click.option("--namespace", default="hostagent", show_default=True, help="Namespace of the Lease.", metavar="NS")
@click.option(
    "--listen", default="127.0.0.1:9477", show_default=True, help="Serve HTTP at this address; '' is off.", metavar="ADDRESS:PORT"
)
@PREFIX
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="Form of the lines on standard error."
)
def command(kubeconfig: str, context: str, listen: str, log_format: Literal["text", "json"], **given: Any) -> int:
    """Taint nodes that are not ready, and nodes with a silent agent (hostagent daemon).

    One for a cluster: docs/controller.md goes from a dry run to on. SIGTERM ends it: exit 0. 2: usage, or it could not run.
    """
    from hostagent import __version__
    from hostagent.controller.loop import Controller, Page
    from hostagent.core.secret.in_use import InUse
    from hostagent.http.listening import listening
    from hostagent.kube.api import Api
    from hostagent.outputs.log import Log

    settings = _settings(**given)
    secrets = InUse()
    log = Log(log_format, complain).through(secrets.without)
    found = access(kubeconfig, context)
    http = listening(listen, "", "") if listen else None
    if settings.stale_after_s < _LONGEST_GAP_S:
        log.problem(
            f"--stale-after is {settings.stale_after_s:g} s: heartbeats of a healthy agent can be 720 s apart, use {_LONGEST_GAP_S} or more"
        )
    controller = Controller(settings, lambda heard: Api(found, f"hostagent-controller/{__version__}", secrets, on_answer=heard), log)
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
    from hostagent.controller.settings import Settings, default_selectors

    if not _NAMESPACE.fullmatch(namespace):
        raise click.UsageError(f"found --namespace {namespace!r:.80}, wanted the name of a namespace")
    return Settings(
        prefix=prefix,
        selectors=(node_selector,) if node_selector else default_selectors(prefix),
        stale_after_s=given["stale_after"],
        max_silent=_limit("--max-silent", max_silent),
        max_tainted=_limit("--max-tainted", max_tainted),
        taints=given["taints"],
        is_multi_node=multi_node_taint == "on",
        is_dry_run=given["dry_run"],
        is_elected=not given["no_leader_elect"],
        namespace=namespace,
    )


def _limit(name: str, text: str) -> "Limit":
    from hostagent.controller.limits import parse_limit

    try:
        return parse_limit(text)
    except ValueError as error:
        raise click.UsageError(f"{name}: {error}") from None
