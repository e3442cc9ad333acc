"""Containers may lock too little memory for RDMA: NCCL's first collective over InfiniBand or RoCE ends with "Cannot allocate memory".

Every buffer that a network card reads by itself is registered, and registered memory counts as locked. A container inherits
the limit of its runtime's service, whatever a login shell says. A pod with CAP_IPC_LOCK is free of it, which is why some
jobs work on such a node. Only hosts with a loaded RDMA driver are checked.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.host import Machine
from hostagent.facts.kernel import Kernel


class Params(NamedTuple):
    """min_bytes: bytes that a container must be allowed to lock"""

    min_bytes: int = 64 * 1024**3


@check(
    title="Containers may lock as much memory as RDMA registers",
    severity="warning",
    scope="fabric",
    since="0.1",
    headline="Containers cannot lock as much memory as RDMA registers",
    remedy=(
        Step("configure", "Set LimitMEMLOCK=infinity in a drop-in of the runtime's unit, then run 'systemctl daemon-reload'."),
        Step("restart_service", "Restart the runtime."),
    ),
    references=("systemd.exec(5), LimitMEMLOCK", "NCCL documentation, troubleshooting: InfiniBand", "ibv_reg_mr(3)"),
    confirm=("systemctl show -p LimitMEMLOCK containerd docker crio",),
)
def memlock(machine: Machine, kernel: Kernel, params: Params) -> Findings:
    if "ib_uverbs" not in need(kernel.loaded_modules):
        skip("no RDMA driver is loaded (ib_uverbs)")
    limit = need(machine.memlock_bytes)
    if limit != -1 and limit < params.min_bytes:
        by = need(machine.memlock_origin)
        yield fail(f"containers may lock {limit} bytes, wanted unlimited", code="low", found=f"{limit} bytes by {by}", wanted="unlimited")
