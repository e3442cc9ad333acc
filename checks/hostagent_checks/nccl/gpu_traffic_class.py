"""A job does not set NCCL_IB_TC, and only the driver's own traffic class leads into the lossless priority: queue pairs that the GPU
makes do not get it, and lose packets as soon as the network is busy.

The vendor's driver gives its class (tc/1/traffic_class) to each connection that the kernel sets up. NCCL's GPU-initiated networking
(GIN) and NVSHMEM's IBGDA make theirs past the kernel, with the class that NCCL_IB_TC asks for, or 0. A job then hangs in one kernel
while all else runs without loss. What a job sets by itself is seen with --env-file alone, so this is worth knowing and no more. Silent
where the driver sets no class, where class 0 is lossless, too, and where no priority is: such networks rely on ECN.
"""

from collections.abc import Iterator

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.network.rails import JobRails
from hostagent.domains.network.stack import cards, priority_of
from hostagent.facts.nccl import Nccl
from hostagent.facts.network import Network
from hostagent.facts.rdma import RdmaPort

from ._job import Job, job
from ._ports import roce

_TC, _GIN = "NCCL_IB_TC", "NCCL_GIN_IB_TC"
_MOST = 255


@check(
    title="Queue pairs that the GPU makes send in the lossless class",
    severity="info",
    scope="fabric",
    since="0.1",
    explains=("no-path",),
    headline="The driver's traffic class does not reach queue pairs that the GPU makes",
    remedy=(Step("configure", "Set NCCL_IB_TC to the driver's class, on all hosts."),),
    references=("NVIDIA/nccl issue 2383", "NCCL documentation, environment variables: NCCL_IB_TC"),
    confirm=("grep . /sys/class/infiniband/*/tc/1/traffic_class", "grep -n NCCL_IB_TC /etc/nccl.conf"),
)
def gpu_traffic_class(nccl: Nccl, rails: JobRails, network: Network | Unread) -> Findings:
    host = job(nccl)
    ours = [(port, own) for port in roce(rails) if (own := _of_driver(port))]
    if not ours:
        skip("no driver gives connections a traffic class of its own")
    name, found = _asked(host)
    wrong = {port.name: (own, text) for port, own in ours for text in _lossy(port, own, found, need(network))}
    if wrong:
        classes = sorted({own for own, _ in wrong.values()})
        shown = " and ".join(map(str, classes))
        begin = f"{name}={found}" if host.value(name) else f"{name} is not set"
        lines = tuple(f"{port}: {text}" for port, (_, text) in wrong.items())
        yield fail(
            f"{begin}, the driver's class ({shown}) does not reach queue pairs that the GPU makes",
            code="lossy" if host.value(name) else "unset",
            found=found if host.value(name) else "unset",
            wanted=classes[0],
            evidence=(*host.evidence(name), *lines),
            remedy=(
                host.instead(name, str(classes[0]))
                if host.value(name)
                else Step("configure", f"Set {_TC}={classes[0]} in jobs, or in /etc/nccl.conf, on all hosts."),
            ),
        )


def _of_driver(port: RdmaPort) -> int:
    """The class that the driver gives its connections, 0 for none. Raises ``UnreadError``."""
    own = port.traffic_class
    return 0 if isinstance(own, Unread) and own.why in NOT_APPLICABLE else need(own)


def _asked(host: Job) -> tuple[str, int]:
    """The class that NCCL gives queue pairs of the GPU, and the name of the setting."""
    for name in (_GIN, _TC):
        value = host.number(name)
        if value is not None and 0 <= value <= _MOST and host.value(name):
            return name, value
    return _TC, 0


def _lossy(port: RdmaPort, own: int, found: int, network: Network) -> Iterator[str]:
    """What its cards do with both classes, where only the driver's is lossless."""
    name = need(port.netdev)
    for card in cards(network, need(network.netdev(name))) if name else ():
        priorities = need(card.priorities)
        if need(priorities.firmware_dcbx):
            need(Unread("error", f"{card.name}: the card's firmware settles its priorities with the switch (DCBX)"))
        lossless, of_driver, of_job = need(priorities.lossless), priority_of(priorities, own), priority_of(priorities, found)
        if of_driver in lossless and of_job is not None and of_job not in lossless:
            yield f"{card.name} gives class {own} priority {of_driver}, which has PFC, and class {found} priority {of_job}"
            return
