"""The list of nodes of IMEX cannot be right: it is empty, names a node twice, or does not name this host.

IMEX takes its own address from the list, so it does not start where the list has none of this host's: one that runs has found it. Names
of hosts are not resolved. Silent where IMEX neither runs nor is enabled with a list, where the DRA driver's plug-in writes
lists of its own, and on nodes without a fabric of several hosts.
"""

from hostagent.check import Findings, Step, Unread, check, counted, fail, first_of, need
from hostagent.domains.network.own_addresses import lacks_own
from hostagent.facts.imex import Imex
from hostagent.facts.network import Network

from ._imex import ImexUse


@check(
    title="The list of nodes of IMEX names this host and others, each once",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    because=("nvswitch.imex_configured",),
    headline="The list of nodes of IMEX cannot be right",
    remedy=(
        Step("configure", "Write the address of each node of the rack once into the list of IMEX, on all of them."),
        Step("restart_service", "Restart IMEX.", command="systemctl restart nvidia-imex"),
    ),
    references=("NVIDIA IMEX Service Guide, section Node Configuration File",),
    confirm=(
        "cat /etc/nvidia-imex/nodes_config.cfg",
        "ip -brief address",
    ),
)
def imex_nodes(imex: Imex, use: ImexUse, network: Network | Unread) -> Findings:
    use.skip_unless_the_hosts()
    is_absent = isinstance(imex.nodes, Unread) and imex.nodes.why == "absent"
    nodes, path = () if is_absent else need(imex.nodes), need(imex.nodes_file)
    twice = tuple(sorted({one for one in nodes if nodes.count(one) > 1}))
    if not nodes:
        headline = "IMEX runs with an empty list of nodes"
        yield fail(f"IMEX runs, and {path} names no node", code="empty", found="no node", wanted="the nodes", headline=headline)
    if twice:
        headline = "The list of nodes of IMEX names a node twice"
        text = f"{path} names {first_of(twice)} more than once"
        yield fail(text, code="twice", found=first_of(twice), wanted="each node once", headline=headline)
    if nodes and not use.runs and not _knows_itself(imex) and lacks_own(nodes, need(network)):
        headline = "The list of nodes of IMEX does not name this host"
        text = f"none of the {counted(len(nodes), 'address')} in {path} is this host's"
        yield fail(text, code="not-itself", found="not named", wanted="this host", headline=headline)
    elif len(set(nodes)) == 1:
        headline = "The list of nodes of IMEX names one node"
        yield fail(
            f"{path} names {nodes[0]} alone: jobs share no memory with other nodes",
            code="alone",
            found="1 node",
            wanted="the nodes of the rack",
            headline=headline,
            at_most="info",
        )


def _knows_itself(imex: Imex) -> bool:
    """IMEX has found itself in the list since its last start: its address may be one that this program does not see."""
    return not isinstance(imex.log, Unread) and imex.log.knows_itself
