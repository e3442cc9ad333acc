"""A GPU has no NIC for jobs that it reaches without the CPU: what it sends to other nodes is copied through the memory of a CPU.

NCCL lets a NIC read and write GPU memory itself (GPUDirect RDMA) where both hang below the same PCIe switches (PIX, PXB), or where the
GPU is joined to the NIC's CPU by NVLink-C2C (P2C). Otherwise all goes through a CPU, and where the NIC is at another socket through the
link between sockets as well. A host with one socket and GPUs in its slots has no other way, and is not judged. On a larger one without
PCIe switches this is for information: the board may have no better slot.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.network.gpu_path import DIRECT, GpuPaths
from hostagent.facts.cpulist import parse_cpulist
from hostagent.facts.gpu import Gpu
from hostagent.facts.topology import Nic, Topology

from ._ways import ways_of_jobs

_OTHER_NODE = "SYS"
#: Bridges above a device that hangs below a switch: the root port, and two ports of the switch.
_WITH_A_SWITCH = 3
_WANTED = "PIX, PXB or P2C"
_MEASURE = (Step("configure", "Measure with NCCL_NET_GDR_LEVEL=SYS: NICs then reach GPU memory through the CPU."),)


@check(
    title="Each GPU has a NIC for jobs that it reaches without the CPU",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("no-gpudirect",),
    because=("gpu.on_bus",),
    headline="{device} reaches the network only through a CPU",
    remedy=(
        Step("configure", "If a NIC is nearer to the GPU, give it to jobs: rdma.hcas and NCCL_IB_HCA name those."),
        Step("replace", "Move a NIC to a slot below the GPU's PCIe switch, or at least at its socket: the board's manual shows which."),
    ),
    references=("NCCL documentation, environment variables, NCCL_NET_GDR_LEVEL", "NVIDIA GPUDirect RDMA, section Supported Systems"),
    confirm=("nvidia-smi topo -m  # SYS, NODE and PHB go through a CPU",),
)
def gpu_nic(gpus: tuple[Gpu, ...], nics: tuple[Nic, ...], paths: GpuPaths, topology: Topology) -> Findings:
    for way in ways_of_jobs(paths):
        if way.distance in DIRECT or len(need(topology.packages)) < 2:
            continue
        if way.distance == _OTHER_NODE and not _at_one_socket(topology, way.gpu, way.cards[0], gpus, nics):
            text = f"the nearest NIC for jobs ({way.cards[0]}) is at another socket"
            yield fail(text, code="other-socket", found=way.distance, wanted=_WANTED, about=way.gpu)
        elif _is_below_a_switch(topology, way.gpu):
            text = f"the nearest NIC for jobs ({way.cards[0]}) does not hang below the GPU's PCIe switch"
            yield fail(text, code="past-the-switch", found=way.distance, wanted=_WANTED, about=way.gpu)
        else:
            text = f"the nearest NIC for jobs ({way.cards[0]}) is at another port of the CPU"
            yield fail(text, code="through-the-cpu", found=way.distance, wanted=_WANTED, about=way.gpu, at_most="info", remedy=_MEASURE)


def _at_one_socket(topology: Topology, gpu: str, nic: str, gpus: tuple[Gpu, ...], nics: tuple[Nic, ...]) -> bool:
    """Firmware can show a socket as several NUMA nodes."""
    nodes = {*(need(one.numa_node) for one in gpus if one.pci == gpu), *(need(one.numa_node) for one in nics if one.pci == nic)}
    cpus = {cpu for node in need(topology.numa_nodes) if node.id in nodes for cpu in parse_cpulist(need(node.cpus))}
    return any(cpus <= set(parse_cpulist(package.cpus)) for package in need(topology.packages))


def _is_below_a_switch(topology: Topology, gpu: str) -> bool:
    return any(len(one.bridges) >= _WITH_A_SWITCH for one in need(topology.places) if one.pci == gpu)
