"""GPUs that PCIe alone joins, GPUs that do not start for want of room on PCI, and a GPU that another driver of the kernel has."""

from collections.abc import Callable, Mapping
from pathlib import Path

from tests.trees import containers, driver, gpus, nccl, netdevs, packages, pcibus, pciconfig, system, topology
from tests.trees.claim import claims
from tests.trees.gpuhosts import A6000, L40S, _node
from tests.trees.gpus import HGX, Place, Product
from tests.trees.hosts import DRIVER, KERNEL, driver_of_cuda_repository, persist, toolkit, ubuntu
from tests.trees.netdevs import Netdev
from tests.trees.others import t4_workstation_docker
from tests.trees.pciconfig import ACS_ON, Express
from tests.trees.system import Daemon
from tests.trees.tree import Tree

_ONE_SOCKET = (topology.Node(0, "0-63", 0, 512),)
_NO_FABRIC = (("DeviceGetNvLinkState", "error 3"), ("DeviceGetGpuFabricInfoV", "error 3"))
RTX_4090 = Product(
    "NVIDIA GeForce RTX 4090", 0x2684, 0x16F4, kind=0x030000, speed="16.0 GT/s PCIe", vbios="95.02.3C.00.8C",
    nvml=(
        *_NO_FABRIC, ("DeviceGetMemoryInfo", "value 25757220864"), ("DeviceGetCudaComputeCapability", "value 8 9"), ("DeviceGetMigMode", "error 3"),
        ("DeviceGetEccMode", "error 3"), ("DeviceGetRemappedRows", "error 3"), ("DeviceGetTotalEccErrors", "error 3"),
        ("DeviceGetSramEccErrorStatus", "error 3"), ("DeviceGetEnforcedPowerLimit", "value 450000"),
        ("DeviceGetPowerManagementDefaultLimit", "value 450000"),
    ),
)  # fmt: skip
#: A PCIe card; an NVLink bridge joins two of them by twelve links.
A100_PCIE = Product(
    "NVIDIA A100 80GB PCIe", 0x20B5, 0x1533, speed="16.0 GT/s PCIe", vbios="92.00.A0.00.05",
    nvml=(
        ("DeviceGetNvLinkState", "value 1 1 1 1 1 1 1 1 1 1 1 1"), ("DeviceGetGpuFabricInfoV", "error 3"),
        ("DeviceGetMemoryInfo", "value 85899345920"), ("DeviceGetCudaComputeCapability", "value 8 0"), ("DeviceGetSramEccErrorStatus", "error 3"),
        ("DeviceGetEnforcedPowerLimit", "value 300000"), ("DeviceGetPowerManagementDefaultLimit", "value 300000"),
    ),
)  # fmt: skip
#: The names that sysfs has for kinds of CPUs (Linux kernel, drivers/base/cpu.c).
AMD, INTEL = "cpu:type:x86,ven0002fam0019mod0018:feature:,0000,0001,0002", "cpu:type:x86,ven0000fam0006mod008F:feature:,0000,0001,0002"
_EMPTY = "0x0000000000000000 0x0000000000000000 0x0000000000000000"
_REGISTERS = "0x00000000d4000000 0x00000000d4ffffff 0x0000000000040200"


def _below(port: str) -> tuple[str, str]:
    return (f"pci{port[:7]}", port)


def _workstation(root: Path, name: str, product: Product, *, cpu: str = AMD, iommu: str = "", cmdline: str = "") -> Tree:
    """Docker, and two cards of one kind on root ports of their own, which redirect."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, name)
    system.boot(tree, name, cmdline=cmdline)
    driver_of_cuda_repository(tree)
    driver.load_driver(tree)
    system.run(tree, Daemon(702, ("/usr/lib/systemd/systemd-timesyncd",), "systemd-timesyncd.service", started_s=8))
    topology.install(tree, _ONE_SOCKET, governor="performance")
    tree.write("/sys/devices/system/cpu/modalias", f"{cpu}\n")
    above = {"0000:01:00.0": _below("0000:00:01.1"), "0000:a1:00.0": _below("0000:a0:01.1")}
    gpus.install_gpus(tree, product, tuple(Place(pci, 0, "0-63") for pci in above), above=lambda place: above[place.pci])
    for _, port in above.values():
        pciconfig.set_up(tree, port, Express("root", acs=ACS_ON))
    netdev = Netdev("enp69s0", 1500, addresses=("10.4.1.7/24",))
    pcibus.nic(tree, pcibus.X710, Place("0000:45:00.0", 0, "0-63"), above=_below("0000:40:03.1"), netdev=netdev)
    netdevs.default_route(tree, "enp69s0", "10.4.1.1")
    if iommu:
        pciconfig.isolate(tree, iommu)
    persist(tree)
    _docker(tree, 2)
    nccl.package(tree)
    return tree


def _docker(tree: Tree, count: int) -> None:
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})
    if count:
        containers.cdi(tree, count)


@claims(source="NVIDIA/nccl issue 2079; Linux kernel, Documentation/admin-guide/kernel-parameters, iommu=pt")
def a6000_pair_passed_through(root: Path) -> Tree:
    """A workstation with two RTX A6000 without a bridge between them: root ports redirect, and the IOMMU passes addresses through."""
    return _workstation(root, "ws-render-3", A6000, iommu="identity", cmdline="iommu=pt")


@claims("topology.gpu_acs", twin="a6000-pair-passed-through", source="NVIDIA/nccl issue 2079")
def a6000_pair_translated(root: Path) -> Tree:
    """Without iommu=pt, as the kernel has it on hosts of AMD: a collective of two GPUs hangs."""
    return _workstation(root, "ws-render-3", A6000, iommu="DMA-FQ")


@claims(twin="a6000-pair-translated", source="NVIDIA/nccl, src/graph/paths.cc")
def a6000_pair_of_intel(root: Path) -> Tree:
    """The same below CPUs of Intel: NCCL copies through the memory of the host there."""
    return _workstation(root, "ws-render-3", A6000, cpu=INTEL, iommu="DMA-FQ")


@claims(source="NVIDIA/nccl-tests issue 117")
def geforce_pair(root: Path) -> Tree:
    """Two GeForce RTX 4090, redirected and translated: the driver lets neither reach the memory of the other."""
    return _workstation(root, "ws-4090", RTX_4090, iommu="DMA-FQ")


def _server(root: Path, name: str, product: Product, paths: Mapping[str, tuple[str, ...]]) -> Tree:
    """A Kubernetes node; GPUs by address, with what is above them. The first half is at the first socket."""
    tree = _node(root, name)
    half = len(paths) // 2
    places = tuple(Place(pci, at // half, f"{at // half * 56}-{at // half * 56 + 55}") for at, pci in enumerate(paths))
    gpus.install_gpus(tree, product, places, above=lambda place: paths[place.pci])
    tree.write("/sys/devices/system/cpu/modalias", f"{AMD}\n")
    containers.cdi(tree, len(paths))
    return tree


def _switches(root: Path, name: str, product: Product) -> Tree:
    """Four cards, two below each of two switches."""
    buses = {"0000:03": "0000:00:01.1", "0000:83": "0000:80:01.1"}
    paths = {}
    for bus, root_port in buses.items():
        first = int(bus[5:], 16)
        for number in (0, 1):
            ports = (f"0000:{first - 2:02x}:00.0", f"0000:{first - 1:02x}:{number:02x}.0")
            paths[f"0000:{first + number:02x}:00.0"] = (*_below(root_port), *ports)
    return _server(root, name, product, paths)


def _redirect(tree: Tree) -> None:
    for port in ("0000:02:00.0", "0000:02:01.0", "0000:82:00.0", "0000:82:01.0"):
        pciconfig.set_up(tree, port, Express("downstream", acs=ACS_ON))


@claims(source="NVIDIA-Certified systems, L40S behind PCIe switches; NCCL documentation, troubleshooting, PCI Access Control Services")
def l40s_switches(root: Path) -> Tree:
    """Four L40S, two below each PCIe switch; the switches send what they exchange straight on."""
    return _switches(root, "infer-21", L40S)


@claims("topology.gpu_acs", twin="l40s-switches")
def l40s_switches_redirect(root: Path) -> Tree:
    """The firmware left ACS on at the switches."""
    tree = l40s_switches(root)
    _redirect(tree)
    return tree


@claims(source="Linux kernel, drivers/iommu/amd: translates by default")
def l40s_root_ports(root: Path) -> Tree:
    """Eight L40S on root ports of two sockets of AMD, as the kernel sets them up: NCCL joins eight GPUs through the memory of the host."""
    ports = [f"0000:{bus:02x}:01.1" for bus in range(0, 0x100, 0x20)]
    paths = {f"0000:{int(port[5:7], 16) + 1:02x}:00.0": _below(port) for port in ports}
    tree = _server(root, "infer-40", L40S, paths)
    for port in ports:
        pciconfig.set_up(tree, port, Express("root", acs=ACS_ON))
    pciconfig.isolate(tree, "DMA-FQ")
    return tree


@claims(source="NVIDIA A100 PCIe product brief, NVLink bridges")
def a100_bridges(root: Path) -> Tree:
    """Four A100 of PCIe in pairs with NVLink bridges, below switches that redirect."""
    tree = _switches(root, "train-pcie-2", A100_PCIE)
    _redirect(tree)
    return tree


def _place_bars(tree: Tree, address: str, memory: str, window: str) -> None:
    """Registers, memory and the driver's window: the second and the third are of 64 bits."""
    lines = (_REGISTERS, memory, _EMPTY, window, _EMPTY, "0x0000000000003000 0x000000000000307f 0x0000000000040101", _EMPTY)
    tree.write(f"/sys/bus/pci/devices/{address}/resource", "".join(f"{line}\n" for line in lines))


def _place_low(tree: Tree, address: str) -> None:
    _place_bars(
        tree,
        address,
        "0x00000000c0000000 0x00000000cfffffff 0x000000000014220c",
        "0x00000000d0000000 0x00000000d1ffffff 0x000000000014220c",
    )


@claims(source="NVIDIA/open-gpu-kernel-modules issue 862", twin="t4-workstation-docker")
def t4_below_4_gib(root: Path) -> Tree:
    """Its memory has 256 MiB below 4 GiB, which is enough for this GPU."""
    tree = t4_workstation_docker(root)
    _place_low(tree, HGX[0].pci)
    return tree


@claims("gpu.init_failed", never=("replaced", "reseat"), source="NVIDIA/open-gpu-kernel-modules issue 862")
def l40s_below_4_gib(root: Path) -> Tree:
    """Above 4G decoding is off: the driver binds an L40S and cannot initialise it."""
    tree = _node(root, "infer-7")
    gpus.install_gpus(tree, L40S, HGX[:1])
    gpus.fault(tree, "DeviceGetHandleByPciBusId * error 15", "DeviceGetCount * value 0")
    _place_low(tree, HGX[0].pci)
    system.log_kernel(
        tree,
        f"NVRM: GPU {HGX[0].pci}: RmInitAdapter failed! (0x22:0x56:884)",
        f"NVRM: GPU {HGX[0].pci}: rm_init_adapter failed, device minor number 0",
    )
    containers.cdi(tree, 1)
    return tree


@claims(
    "driver.loaded", never=("replaced", "reseat", "Resizable BAR"), source="NVIDIA/open-gpu-kernel-modules issue 862; OVMF, X-PciMmio64Mb"
)
def guest_without_window(root: Path) -> Tree:
    """A virtual machine of QEMU with a window too small for the memory of an L40S: its BAR 1 has no address, and the module goes again."""
    tree = _node(root, "vm-gpu-5", ("QEMU", "Standard PC (Q35 + ICH9, 2009)"))
    tree.remove("/sys/module/nvidia")
    gpus.install_gpus(tree, L40S, HGX[:1], driver="")
    gpus.table(tree, L40S, ())
    gpus.fault(tree, "Init * error 9")
    _place_bars(
        tree,
        HGX[0].pci,
        "0x0000000000000000 0x0000000fffffffff 0x000000002014220c",
        "0x0000000000000000 0x0000000001ffffff 0x000000002014220c",
    )
    system.log_kernel(
        tree,
        f"pci {HGX[0].pci}: BAR 1 [mem size 0x1000000000 64bit pref]: can't assign; no space",
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:\nNVRM: BAR1 is 0M @ 0x0 (PCI:0000:1b:00.0)",
        f"nvidia: probe of {HGX[0].pci} failed with error -1",
        "NVRM: None of the NVIDIA devices were initialized.",
    )
    return tree


@claims("kernel.nouveau_loaded", never=("replaced",), source="beclab/Olares issue 3963; Linux kernel, drivers/gpu/nova-core/driver.rs")
def nova_has_the_gpu(root: Path) -> Tree:
    """The kernel's nova_core has an L40S; NVIDIA's module finds no GPU that is free, and goes again."""
    tree = _node(root, "infer-9")
    tree.remove("/sys/module/nvidia")
    tree.remove("/usr/lib/modprobe.d/nvidia-blacklists-nouveau.conf")
    gpus.install_gpus(tree, L40S, HGX[:1], driver="NovaCore")
    gpus.table(tree, L40S, ())
    gpus.fault(tree, "Init * error 9")
    system.load(tree, "nova_core")
    tree.link("/sys/bus/pci/drivers/NovaCore/module", "../../../../module/nova_core")
    system.log_kernel(
        tree, f"NVRM: GPU {HGX[0].pci} is already bound to NovaCore.", "NVRM: The NVIDIA probe routine was not called for 1 device(s).", "NVRM: No NVIDIA devices probed."
    )  # fmt: skip
    return tree


RECIPES: Mapping[str, Callable[[Path], Tree]] = {
    "a6000-pair-passed-through": a6000_pair_passed_through,
    "a6000-pair-translated": a6000_pair_translated,
    "a6000-pair-of-intel": a6000_pair_of_intel,
    "geforce-pair": geforce_pair,
    "l40s-switches": l40s_switches,
    "l40s-switches-redirect": l40s_switches_redirect,
    "l40s-root-ports": l40s_root_ports,
    "a100-pcie-bridges": a100_bridges,
    "t4-below-4-gib": t4_below_4_gib,
    "l40s-below-4-gib": l40s_below_4_gib,
    "guest-without-window": guest_without_window,
    "nova-has-the-gpu": nova_has_the_gpu,
}
