"""Two parties bring the kernel's RDMA modules: whichever is loaded last wins, and modules that were built for the other do not load.

The Network Operator's driver container replaces the modules of a host while it runs; DOCA-OFED packages on the host bring their own.
Next to each other they leave nvidia_peermem without effect, or storage modules that do not load, after the next update or reboot.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.rdma import Rdma


@check(
    title="One party brings the kernel's RDMA modules",
    severity="info",
    scope="fabric",
    since="0.1",
    explains=("no-gpudirect", "no-rdma"),
    part="rdma",
    headline="Several parties bring the kernel's RDMA modules: {found}",
    remedy=(Step("configure", "Keep one of them: remove the host's packages, or turn off the operator's driver."),),
    references=("NVIDIA Network Operator, README", "NVIDIA GPUDirect RDMA, section Using nvidia-peermem"),
    confirm=("modinfo -n mlx5_core ib_core",),
)
def stacks(rdma: Rdma) -> Findings:
    found = need(rdma.stacks)
    if not found:
        skip("the host has no RDMA modules")
    if len(found) > 1:
        text = f"RDMA modules come from {' and '.join(found)}"
        yield fail(text, code="several", found=" and ".join(found), wanted="one of them")
