"""Access Control Services turn what two GPUs without NVLink send to each other up to the CPU: NCCL's collectives are slow, or hang.

Below a PCIe switch redirected requests leave the switch and come back, at a part of the bandwidth. At root ports they go through the
IOMMU; where that translates addresses (type ``DMA`` or ``DMA-FQ``, the default of many kernels on hosts of AMD), transfers between
the GPUs hang (NVIDIA/nccl issue 2079). CUDA supports no peer access through a translating IOMMU. Passed through (``identity``) or switched
off the IOMMU leaves root ports alone, so their redirects matter only where it translates.

Judged are pairs of one kind that the driver lets reach each other's memory, at the ports where their way turns, by request redirect (0x04)
and completion redirect (0x08). NCCL joins a pair by peer access below a switch, and, if the host has no more than two GPUs below CPUs of
AMD, at any distance; further pairs are worth knowing, for programs that use peer access of CUDA by themselves. Not judged are virtual
machines, hosts that pass devices on to some, which need ACS; GPUs that NVLink joins, and boards with NVLink-C2C; GeForce cards, where the
driver refuses peer access; MIG; bridges that let translated requests through (0x40); jobs that a setting keeps from peer access; and
runs without CAP_SYS_ADMIN, from which the kernel hides ACS.
"""

from collections.abc import Mapping

from hostagent.check import NOT_APPLICABLE, Finding, Findings, Step, Unread, check, counted, fail, need, skip, warn
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.core.tables.rights import is_hidden
from hostagent.domains.nccl.peer_level import peer_level
from hostagent.domains.topology.peers import BELOW_A_BRIDGE, Pair, pairs
from hostagent.facts.gpu import Gpu
from hostagent.facts.nccl import Nccl
from hostagent.facts.platform import Platform
from hostagent.facts.topology import PciControl, Topology

from ._nodes import VFIO
from ._ways import skip_in_a_machine

_REDIRECTS, _TRANSLATED, _TRANSLATES = 0x0C, 0x40, "DMA"
_NOT_READ = "ACS between the GPUs was not read"
_AS_ROOT = (Step("rerun", "Run 'hostagent check' as root on the host."),)
_PASS_THROUGH = Step("configure", "Or keep ACS, and let the IOMMU pass addresses through: add iommu=pt to the kernel command line.")


@check(
    title="GPUs without NVLink reach each other directly over PCIe",
    severity="warning",
    since="0.1",
    explains=("memory-access",),
    headline="ACS between the GPUs sends what they exchange through the CPU",
    remedy="Switch ACS off in the firmware setup.",
    action="configure",
    references=(
        "NVIDIA/nccl issue 2079",
        "NVIDIA/nccl, src/graph/paths.cc",
        "NCCL documentation, troubleshooting, PCI Access Control Services",
        "Linux kernel, Documentation/admin-guide/kernel-parameters, pci=disable_acs_redir",
        "PCI Express Base Specification, section 7.7.11",
    ),
    confirm=(
        "lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'  # ReqRedir+ or CmpltRedir+ on a bridge above a GPU",
        "cat /sys/kernel/iommu_groups/*/type",
    ),
)
def gpu_acs(gpus: tuple[Gpu, ...], topology: Topology, platform: Platform, nccl: Nccl | Unread) -> Findings:
    skip_in_a_machine(platform)
    if any(need(gpu.bound_to) == VFIO for gpu in gpus):
        skip("GPUs are bound to vfio-pci: hosts of virtual machines need ACS")
    found = pairs(topology, gpus)
    if not found:
        skip("no two GPUs reach each other over PCIe alone")
    count = len({address for pair in found for address in (pair.one, pair.other)})
    level = peer_level(nccl, count, "amd" if isinstance(topology.cpu_vendor, Unread) else topology.cpu_vendor)
    if level.is_closed:
        skip(f"{level.setting} keeps NCCL from peer access")
    settings = {one.pci: one for one in need(topology.gpu_ports)}
    judged = [pair for pair in found if pair.distance == BELOW_A_BRIDGE or _is_translated(pair, settings)]
    of_nccl = {bridge for pair in judged if level.reaches(pair.distance) for bridge in pair.turns}
    words = {bridge: _of(settings, bridge).acs for bridge in sorted({bridge for pair in judged for bridge in pair.turns})}
    known = {bridge: word for bridge, word in words.items() if not isinstance(word, Unread)}
    redirecting = tuple(bridge for bridge, word in known.items() if _redirects(word))
    if redirecting:
        below = {bridge for pair in judged if pair.distance == BELOW_A_BRIDGE for bridge in pair.turns}
        evidence = tuple(f"{bridge} {words[bridge]:#06x}" for bridge in redirecting)
        names = ";".join(bridge for bridge in redirecting if bridge in of_nccl) or ";".join(redirecting)
        is_below, is_for_nccl = bool(below & set(redirecting)), bool(of_nccl & set(redirecting))
        yield _finding(is_below=is_below, names=names, evidence=evidence, is_for_nccl=is_for_nccl)
    gaps = {bridge: word for bridge, word in words.items() if isinstance(word, Unread) and (word.why not in NOT_APPLICABLE or not known)}
    if gaps and not redirecting and all(is_hidden(word) for word in gaps.values()):
        skip("how PCI functions are set up cannot be read with the rights of this run")
    for bridge in sorted(gaps, key=lambda one: one not in of_nccl):
        if bridge in of_nccl:
            need(gaps[bridge])
        text = f"ACS of {counted(len(gaps), 'bridge')} between GPUs was not read; NCCL uses no peer access over them by default"
        yield warn(text, code="not-read", found="not read", wanted="no redirect", headline=_NOT_READ, remedy=_AS_ROOT, at_most="info")
        return


def _finding(*, is_below: bool, names: str, evidence: tuple[str, ...], is_for_nccl: bool) -> Finding:
    through = "CPU" if is_below else "IOMMU"
    ports = counted(len(evidence), "port")
    text = f"ACS redirects on {ports} between GPUs without NVLink: what they exchange goes through the {through}"
    headline = f"ACS between the GPUs sends what they exchange through the {through}"
    steps = (
        Step("configure", "Switch ACS off in the firmware setup; where it has no such setting, do the following."),
        Step("configure", f"Let the kernel switch it off at each boot, by its command line (pci=disable_acs_redir={names})."),
        *(() if is_below else (_PASS_THROUGH,)),
        REBOOT,
    )
    if is_for_nccl:
        return fail(text, code="redirects", found=len(evidence), wanted=0, evidence=evidence, headline=headline, remedy=steps)
    text = f"{text}, where programs use CUDA's peer access; NCCL uses none here by default for a job on all GPUs"
    return warn(text, code="not-of-nccl", found=len(evidence), wanted=0, evidence=evidence, headline=headline, remedy=steps, at_most="info")


def _is_translated(pair: Pair, settings: Mapping[str, PciControl]) -> bool:
    """Whether the IOMMU translates for one of them."""
    words = [_of(settings, gpu).iommu for gpu in (pair.one, pair.other)]
    known = [word for word in words if not isinstance(word, Unread)]
    return any(word.startswith(_TRANSLATES) for word in known) or any(need(word).startswith(_TRANSLATES) for word in words)


def _redirects(word: int) -> bool:
    return bool(word & _REDIRECTS) and not word & _TRANSLATED


def _of(settings: Mapping[str, PciControl], address: str) -> PciControl:
    return settings[address] if address in settings else need(Unread("error", f"how {address} is set up was not read"))
