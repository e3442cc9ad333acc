"""IMEX has logged since its start that its domain is degraded, that it failed, or that it has lost its peers: jobs over several nodes
of the rack cannot share memory with them.

The last state counts: an error before a connection was made is over, and a node that came back is not lost. One peer that is gone while
others are connected is that node's fault, and worth knowing. Silent where the host's IMEX does not run, where the DRA driver runs it,
and on nodes without a fabric of several hosts.
"""

from hostagent.check import Findings, Step, check, counted, fail, first_of, need
from hostagent.core.tables.nvlink_fabric import IMEX_GOOD_STATES
from hostagent.facts.imex import Imex

from ._imex import ImexUse, skip_unless_all

#: It is connected to itself, too.
_ALONE = 1


@check(
    title="IMEX has logged no failure since it started",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    because=("nvswitch.imex_enabled", "nvswitch.imex_nodes"),
    headline="IMEX has logged that it fails",
    remedy=(
        Step("configure", "Correct what the log names, on the node that it names.", command="tail -n 50 /var/log/nvidia-imex.log"),
        Step("restart_service", "Restart IMEX while no job runs.", command="systemctl restart nvidia-imex"),
    ),
    references=("NVIDIA IMEX Service Guide, section Connections, Quorum, and Clean up",),
    confirm=(
        "tail -n 50 /var/log/nvidia-imex.log",
        "nvidia-imex-ctl -N  # the state of each node of the domain",
    ),
)
def imex_log(imex: Imex, use: ImexUse) -> Findings:
    skip_unless_all(
        (lambda: use.is_on_rack, "the GPUs are on no fabric of several hosts"),
        (lambda: use.runs, "the host does not run IMEX"),
        (lambda: not use.is_in_pods, "the DRA driver runs IMEX in pods"),
    )
    log = need(imex.log)
    others = max(log.connected - _ALONE, 0)
    if log.state and log.state not in IMEX_GOOD_STATES:
        headline = f"The domain of IMEX is {log.state}"
        yield fail(f"the last state in the log of IMEX is {log.state}", code="state", found=log.state, wanted="UP", headline=headline)
    elif log.errors:
        text = f"{counted(len(log.errors), 'error')} in the log of IMEX after its last connection"
        yield fail(text, code="errors", found=len(log.errors), wanted=0, evidence=log.errors[-5:])
    elif log.lost:
        text = f"IMEX lost {counted(len(log.lost), 'node')} of its domain ({first_of(log.lost)}), {others} others are connected"
        headline = "IMEX has lost nodes of its domain"
        yield fail(text, code="lost", found=first_of(log.lost), wanted="connected", headline=headline, at_most="info" if others else None)
