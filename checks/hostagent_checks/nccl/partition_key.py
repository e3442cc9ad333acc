"""NCCL_IB_PKEY names a slot of the ports' table of partition keys that is empty, or a limited member's.

The setting is the index of the slot, not the key: who writes 0x8001 asks for slot 32769. NCCL cannot connect with an empty slot, and
limited members of a partition cannot talk to each other. Without the setting NCCL takes slot 0.
"""

from hostagent.check import Findings, Step, Unread, UnreadError, check, fail, need, skip
from hostagent.domains.network.rails import JobRails
from hostagent.facts.nccl import Nccl
from hostagent.profile import Profile

from ._job import job, weight
from ._ports import verbs

_INDEX, _VALUE = "NCCL_IB_PKEY", "NCCL_IB_PKEY_VALUE"
_FULL = 0x8000


@check(
    title="NCCL's partition key is in the table of each port",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("no-path",),
    because=("rdma.pkey", "rdma.port_state"),
    headline="NCCL's partition key is not usable: {found}",
    remedy=(
        Step("configure", "Set NCCL_IB_PKEY to the index of the key in the ports' tables, or take it out."),
        Step("configure", "Or let the subnet manager make the host a full member of the partition."),
    ),
    references=("NCCL documentation, environment variables: NCCL_IB_PKEY", "InfiniBand Architecture Specification"),
    confirm=("grep . /sys/class/infiniband/*/ports/*/pkeys/[0-9] 2>/dev/null",),
)
def partition_key(nccl: Nccl, rails: JobRails, profile: Profile) -> Findings:
    host = job(nccl)
    index = host.number(_INDEX)
    if not index or host.value(_VALUE):
        skip(f"{_INDEX} names no slot")
    wrong: dict[str, str] = {}
    gaps: list[Unread] = []
    for port in verbs(rails):
        try:
            value = next((one.value for one in need(port.pkeys) if one.index == index), None)
        except UnreadError as error:
            gaps.append(error.unread)
            continue
        if value is None:
            wrong[port.name] = f"slot {index} is empty"
        elif not value & _FULL:
            wrong[port.name] = f"slot {index} is {value:#06x}, a limited member"
    if wrong:
        lines = tuple(f"{name}: {text}" for name, text in wrong.items())
        text = f"{_INDEX}={host.value(_INDEX)}: {lines[0]}"
        evidence = (*host.evidence(_INDEX), *lines)
        yield fail(text, code="slot", found=lines[0], wanted="a full member", evidence=evidence, at_most=weight(profile))
    for gap in gaps:
        need(gap)
