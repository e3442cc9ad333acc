"""A cgroup that jobs run in may have few RDMA handles or objects: collectives of many GPUs end with "Cannot allocate memory".

Each process opens each card once, and each connection has queues, regions and keys: some thousands for eight GPUs. Hardly anybody
sets rdma.max on purpose, so one that is set mostly comes from a template for other work.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.rdma import Rdma


class Params(NamedTuple):
    """min_handles: devices that the processes of a cgroup must be able to open
    min_objects: queues, regions and keys that they must be able to have
    """

    min_handles: int = 64
    min_objects: int = 10_000


@check(
    title="Jobs may have as many RDMA handles and objects as they need",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("memory-lock",),
    headline="The cgroups of jobs may have too few RDMA handles or objects",
    remedy=(Step("configure", "Set the device's line in rdma.max of these cgroups to max, and look who limits it."),),
    references=("Linux kernel, Documentation/admin-guide/cgroup-v2, RDMA",),
    confirm=("grep -r . /sys/fs/cgroup --include=rdma.max",),
)
def handle_limits(rdma: Rdma, params: Params) -> Findings:
    if not need(rdma.devices):
        skip("the host has no RDMA device")
    tight = tuple(
        f"{one.cgroup}: {one.device} hca_handle={_number(one.handles)} hca_object={_number(one.objects)}"
        for one in need(rdma.limits)
        if 0 <= one.handles < params.min_handles or 0 <= one.objects < params.min_objects
    )
    if tight:
        wanted = f">= {params.min_handles} handles and {params.min_objects} objects"
        yield fail(f"rdma.max is {tight[0].partition(': ')[2]}", code="low", found=tight[0], wanted=wanted, evidence=tight)


def _number(limit: int) -> str:
    return "max" if limit < 0 else str(limit)
