"""PCIe switches turn what a GPU and its NIC send to each other up to the CPU: Access Control Services redirect it.

Firmware switches that on, and so does Linux where the IOMMU is on, at each boot. GPUDirect RDMA then goes through the CPU's own PCIe port
twice, at a part of the bandwidth, or hangs. Judged are the ports of the switch above a GPU and the NICs nearest to it, by
request redirect (0x04) and completion redirect (0x08). Source validation alone turns nothing. Not judged are virtual machines and hosts
that pass devices on to some, which need ACS; boards whose GPUs are joined to the CPU by NVLink-C2C, which want it set up in their own
way; and bridges that let translated requests through (0x40).
"""

from hostagent.check import NOT_APPLICABLE, Findings, Step, Unread, check, counted, fail, need, skip
from hostagent.core.tables.pci import is_coherent
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.network.gpu_path import BELOW_A_BRIDGE, GpuPaths, control, turns
from hostagent.facts.platform import Platform
from hostagent.facts.topology import Topology

from ._nodes import VFIO
from ._ways import ports_of, skip_in_a_machine, ways_of_jobs

_REDIRECTS, _TRANSLATED = 0x0C, 0x40


@check(
    title="PCIe switches let GPUs and NICs talk to each other directly",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("memory-access",),
    headline="PCIe switches send what GPUs and NICs exchange through the CPU",
    remedy="Switch ACS off in the firmware setup.",
    action="configure",
    references=(
        "NCCL documentation, troubleshooting, PCI Access Control Services",
        "Linux kernel, Documentation/admin-guide/kernel-parameters, pci=disable_acs_redir",
        "PCI Express Base Specification, section 7.7.11",
    ),
    confirm=("lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'  # ReqRedir+ or CmpltRedir+ on a bridge below which GPUs are",),
)
def acs(paths: GpuPaths, topology: Topology, platform: Platform) -> Findings:
    skip_in_a_machine(platform)
    ports_of(paths.rails)
    bridges = _bridges(paths, topology)
    words = {bridge: control(topology, bridge).acs for bridge in bridges}
    known = {bridge: word for bridge, word in words.items() if not isinstance(word, Unread)}
    found = tuple(f"{bridge} {word:#06x}" for bridge, word in known.items() if word & _REDIRECTS and not word & _TRANSLATED)
    if found:
        text = f"ACS redirects on {counted(len(found), 'bridge')} between GPUs and NICs"
        names = ";".join(one.partition(" ")[0] for one in found)
        steps = (
            Step("configure", "Switch ACS off in the firmware setup; where it has no such setting, do the following."),
            Step("configure", f"Let the kernel switch it off at each boot, by its command line (pci=disable_acs_redir={names})."),
            REBOOT,
        )
        yield fail(text, code="redirects", found=len(found), wanted=0, evidence=found, remedy=steps)
    for word in words.values():
        if isinstance(word, Unread) and (word.why not in NOT_APPLICABLE or not known):
            need(word)


def _bridges(paths: GpuPaths, topology: Topology) -> tuple[str, ...]:
    if any(need(gpu.bound_to) == VFIO for gpu in paths.gpus):
        skip("GPUs are bound to vfio-pci: hosts of virtual machines need ACS")
    if any(is_coherent(need(gpu.device_id)) for gpu in paths.gpus):
        skip("GPUs and NICs of this board talk over the CPU, or by switches that want ACS")
    ways = [way for way in ways_of_jobs(paths) if way.distance in BELOW_A_BRIDGE]
    if not ways:
        skip("no GPU has a NIC for jobs below its own PCIe switch")
    found = sorted({bridge for way in ways for bridge in turns(topology, way)})
    return tuple(found)
