"""Containers may lock too little memory for RDMA: NCCL's first collective over InfiniBand or RoCE ends with "Cannot allocate memory".

Every buffer that a network card reads directly is registered, and registered memory counts as locked. A container inherits
the limit of its runtime's service, whatever a login shell says. A pod with CAP_IPC_LOCK has no limit, which is why some
jobs work on such a node. Only hosts with a loaded RDMA driver are checked. Inside a container that has no runtime its own limit counts.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, shell, size, skip
from hostagent.core.tables.daemons import processes
from hostagent.facts.host import Machine
from hostagent.facts.kernel import Kernel
from hostagent.facts.platform import Platform


class Params(NamedTuple):
    """min_bytes: bytes that a container must be allowed to lock"""

    min_bytes: int = 64 * 1024**3


_IN_A_CONTAINER = (
    Step("contact_owner", "Start the container with an unlimited memlock limit, or with CAP_IPC_LOCK."),
    Step("contact_owner", "In Kubernetes, add IPC_LOCK to the capabilities of the container's securityContext."),
)


@check(
    title="Containers may lock as much memory as RDMA needs",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("memory-lock",),
    headline="Containers may lock too little memory for RDMA",
    remedy=(
        Step("configure", "Set LimitMEMLOCK=infinity in the unit of the container runtime."),
        Step("restart_service", "Restart the container runtime."),
    ),
    references=("systemd.exec(5), LimitMEMLOCK", "NCCL documentation, troubleshooting: InfiniBand", "ibv_reg_mr(3)"),
    confirm=("systemctl show -p LimitMEMLOCK containerd docker crio",),
)
def memlock(machine: Machine, kernel: Kernel, platform: Platform | Unread, params: Params) -> Findings:
    if "ib_uverbs" not in need(kernel.loaded_modules):
        skip("no RDMA driver is loaded (ib_uverbs)")
    limit = need(machine.memlock_bytes)
    if limit != -1 and limit < params.min_bytes:
        by = need(machine.memlock_origin)
        text = f"the limit of locked memory in containers is {size(limit)} by {by}"
        yield fail(text, code="low", found=f"{size(limit)} by {by}", wanted="unlimited", remedy=_steps(machine, platform))


def _steps(machine: Machine, platform: Platform | Unread) -> tuple[Step, ...]:
    """With the units of the runtimes that run; () where none is known. A container's limit is set where it is started."""
    running = () if isinstance(machine.processes, Unread) else machine.processes
    found = [one.unit for one in running if one.name in processes("runtime") and isinstance(one.unit, str) and one.unit]
    units = dict.fromkeys(one.removesuffix(".service") for one in found)
    if not units and not isinstance(platform, Unread) and platform.in_container:
        return _IN_A_CONTAINER
    return (
        *(Step("configure", f"Set LimitMEMLOCK=infinity in the unit {one}.", shell("systemctl edit {}", one)) for one in units),
        *(Step("restart_service", f"Restart {one}.", shell("systemctl restart {}", one)) for one in units),
    )
