"""``hostagent kubernetes``: shows why a node is closed, and removes hostagent from a cluster."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from hostagent.cli import SETTINGS, Group, examples
from hostagent.cli.clusteroptions import CONTEXT, KUBECONFIG, PREFIX, access
from hostagent.cli.streams import complain, put, say
from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible

if TYPE_CHECKING:
    from hostagent.kube.api import Api

_PAGE, _TRIES = 250, 8
_OPTIONS = (KUBECONFIG, CONTEXT, PREFIX)


def _cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@click.group(
    "kubernetes",
    cls=Group,
    context_settings=SETTINGS,
    epilog=examples("hostagent kubernetes why --help", "hostagent kubernetes clean --help"),
)
def command() -> None:
    """Show why a node is closed, or remove what hostagent has written to nodes."""


@command.command("why", short_help="Show why a node is closed.", epilog=examples("hostagent kubernetes why gpu-7 --kubeconfig admin.conf"))
@click.argument("node", metavar="NODE")
@_cluster_options
def why(node: str, kubeconfig: str, context: str, prefix: str) -> int:
    """Show why NODE is closed: the controller's reason, the taints, and the conditions of its agent.

    Exit 0: it is open. 1: it is closed, or not ready. 2: usage, or the node could not be read.
    """
    from hostagent.controller.reasons import render_why

    text, is_open = render_why(_get(_api(kubeconfig, context), node), prefix)
    put(text)
    return 0 if is_open else 1


@command.command(
    "clean",
    short_help="Remove what hostagent has written to nodes.",
    epilog=examples(
        "hostagent kubernetes clean --node gpu-7 --kubeconfig admin.conf", "hostagent kubernetes clean --all --taints --dry-run"
    ),
)
@click.option("--node", default="", help="One node.", metavar="N")
@click.option("--all", "is_all", is_flag=True, help="All nodes of the cluster.")
@click.option("--taints", is_flag=True, help="Also readiness.k8s.io/hostagent-not-ready and -multi-node-not-ready with NoSchedule.")
@_cluster_options
@click.option("--dry-run", is_flag=True, help="Say what would be removed, and change nothing.")
def clean(node: str, is_all: bool, taints: bool, kubeconfig: str, context: str, prefix: str, dry_run: bool) -> int:
    """Remove labels, annotations and conditions under the prefix from nodes, with --taints also the taints.

    Stop the controller and the agents first: they write again. Exit 0: nothing remains. 1: something remains or would be removed, or an
    agent still writes. 2: usage, or the cluster could not be read.
    """
    if bool(node) == is_all:
        raise click.UsageError("found both or none of --node and --all, wanted one of them")
    from hostagent.controller.cleaning import heartbeat, leftovers

    api = _api(kubeconfig, context)
    beats: dict[str, str] = {}
    running: set[str] = set()
    count = tainted = 0
    for item in _items(api, node):
        name = str(item["metadata"]["name"])
        found = leftovers(item, prefix, with_taints=taints)
        tainted += not taints and bool(leftovers(item, prefix, with_taints=True).taints)
        if found:
            count += 1
            beats[name] = heartbeat(item, prefix)
            say(f"{name}: {f'would remove {found}' if dry_run else _cleaned(api, item, prefix, running, taints=taints)}")
    if dry_run or not count:
        say(_sum(count, tainted))
        return 1 if count else 0
    left = [(item, found) for item in _items(api, node) if (found := leftovers(item, prefix, with_taints=taints))]
    for item, found in left:
        name = str(item["metadata"]["name"])
        say(f"{name}: {found} left")
        if heartbeat(item, prefix) not in ("", beats.get(name, "")):
            _warn(name, running)
    if not left and not running:
        say(_sum(0, tainted))
    return 1 if left or running else 0


def _sum(count: int, tainted: int) -> str:
    """`count`: nodes with something; `tainted`: those of which the taints were not asked for."""
    if count:
        return f"{count} {'node has' if count == 1 else 'nodes have'} labels, annotations, conditions or taints of hostagent"
    if tainted:
        where = "1 node" if tainted == 1 else f"{tainted} nodes"
        return f"no label, annotation or condition of hostagent is left; taints are on {where}: --taints removes them"
    return "nothing of hostagent is left"


def _warn(name: str, running: set[str]) -> None:
    running.add(name)
    complain(f"Warning: the agent of {name} is still running: it wrote a heartbeat meanwhile. Stop the agents, then clean again.")


def _api(kubeconfig: str, context: str) -> "Api":
    from hostagent import __version__
    from hostagent.kube.api import Api

    return Api(access(kubeconfig, context), f"hostagent/{__version__}")


def _get(api: "Api", name: str) -> dict[str, Any]:
    from hostagent.kube.api import ApiError
    from hostagent.kube.nodestatus import node_path

    try:
        return _node(api.get(node_path(name)))
    except ApiError as error:
        if error.is_not_found:
            raise HostagentError(f"found no node {visible(name)[:80]!r}", "See 'kubectl get nodes'") from None
        raise


def _items(api: "Api", node: str) -> Iterator[dict[str, Any]]:
    """That node; all where it is ""."""
    if node:
        yield _get(api, node)
        return
    from hostagent.kube.api import GONE, ApiError
    from hostagent.kube.nodestatus import NODES

    while True:
        try:
            for page in api.pages(NODES, limit=_PAGE):
                yield from map(_node, page.items)
        except ApiError as error:
            if error.code != GONE:  # what was done meanwhile took longer than the server remembers the list: once more
                raise
        else:
            return


def _node(item: dict[str, Any]) -> dict[str, Any]:
    """Raises ``HostagentError`` for what is none."""
    from hostagent.controller.node import parse_node

    if parse_node(item, "", ()) is None:
        raise HostagentError("the answer of the API server is no node", "")
    return item


def _cleaned(api: "Api", item: dict[str, Any], prefix: str, running: set[str], *, taints: bool) -> str:
    """Lines about what was done; adds nodes with a running agent to `running`. Raises ``ApiError`` where the server is not reached."""
    from hostagent.controller.cleaning import heartbeat, leftovers, status_patch, taints_patch
    from hostagent.controller.node import parse_whole
    from hostagent.kube.api import CONFLICT, ApiError
    from hostagent.kube.nodestatus import node_path

    path, removed, beat = node_path(str(item["metadata"]["name"])), "", heartbeat(item, prefix)
    for number in range(_TRIES):
        try:
            item = _node(api.get(path)) if number else item
            if heartbeat(item, prefix) not in ("", beat):
                beat = heartbeat(item, prefix)
                _warn(str(item["metadata"]["name"]), running)
            found = leftovers(item, prefix, with_taints=taints)
            whole = parse_whole(item, prefix, ())
            removed = removed or f"removed {found}"
            newest = api.patch(f"{path}/status", status_patch(item, found), "strategic") if any(found[:3]) else item
            if whole and found.taints:
                api.patch(path, taints_patch(newest, whole, found), "merge")
        except ApiError as error:
            if error.is_not_found:
                return "the node is gone"
            if not error.code:
                raise
            if error.code != CONFLICT and "metadata.uid" not in error.fields:  # it has changed, or is another one now
                return f"not removed: {error.message}"
        else:
            return removed
    return f"{removed}, not all: the node changes all the time"
