"""A GPU is reserved for virtual machines (vfio-pci), and nothing says that this is intended: containers of this host have one GPU less.

It is intended if the host shows it: the device is bound by name (driver_override, as driverctl, libvirt and the GPU Operator do),
or its id is given to vfio-pci on the kernel command line or in modprobe.d. Or the profile says so: ``gpus.passthrough`` is "any",
or lists the GPU's address. Then the GPU is left out and the rest of the host is checked. A virtual machine may run with it:
look for one before the GPU is given back.
"""

from hostagent.check import Findings, Step, check, need, skip, warn
from hostagent.facts.gpu import Accelerators, Gpu
from hostagent.profile import Profile

from ._judged import VFIO


@check(
    title="Any GPU on vfio-pci is there for virtual machines",
    severity="warning",
    since="0.1",
    order=21,
    headline="{device} is on vfio-pci, and nothing explains it",
    remedy=(
        Step("configure", "If the GPU is for virtual machines, add its address to gpus.passthrough in the profile."),
        Step("configure", "If it is not, ask who bound it to vfio-pci: a virtual machine may be using it."),
    ),
    references=("driverctl(8)", "NVIDIA GPU Operator, GPU Operator with KubeVirt", "Linux kernel, Documentation/driver-api/vfio.rst"),
    confirm=(
        "lspci -k -s <address>  # 'Kernel driver in use: vfio-pci'",
        "cat /sys/bus/pci/devices/<address>/driver_override",
        "modprobe -c | grep vfio",
    ),
)
def passthrough(gpu: Gpu, accelerators: Accelerators, profile: Profile) -> Findings:
    if need(gpu.bound_to) != VFIO:
        return
    wanted = profile.gpus.passthrough
    if wanted == "any" or gpu.pci in wanted:
        skip("the profile leaves this GPU to virtual machines")
    if need(gpu.driver_override) == VFIO:
        skip("the GPU is bound to vfio-pci by name, for a virtual machine")
    ids = need(accelerators.vfio_ids)
    if f"10de:{need(gpu.device_id).removeprefix('0x')}" in ids:
        skip("GPUs of this kind are bound to vfio-pci, for virtual machines")
    yield warn(
        "the GPU is bound to vfio-pci, and nothing on the host explains it",
        code="unexplained",
        found=VFIO,
        wanted="nvidia, or an explanation",
    )
