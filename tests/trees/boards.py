"""Hosts whose GPUs sit on boards with NVSwitches: healthy ones, and the same with one named change."""

from collections.abc import Callable
from pathlib import Path

from tests.trees import containers, driver, gpus, kubelets, packages, pcibus, rails, rdma, system
from tests.trees.claim import BOARD, claims
from tests.trees.gpus import HGX, Place, Product
from tests.trees.hosts import DRIVER, KERNEL, driver_of_cuda_repository, hgx_h100, persist, toolkit, ubuntu
from tests.trees.rdma import Hca
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, Tree

#: ``lspci -nn`` of an HGX A100 board: GPUs 10de:20b2, switches 10de:1af1.
A100 = Product(
    "NVIDIA A100-SXM4-80GB", 0x20B2, 0x1463, speed="16.0 GT/s PCIe", vbios="92.00.45.00.05",
    nvml=(
        ("DeviceGetMemoryInfo", "value 85899345920"), ("DeviceGetCudaComputeCapability", "value 8 0"),
        ("DeviceGetNvLinkState", "value 1 1 1 1 1 1 1 1 1 1 1 1"), ("DeviceGetGpuFabricInfoV", "error 3"),
        ("DeviceGetEnforcedPowerLimit", "value 400000"), ("DeviceGetPowerManagementDefaultLimit", "value 400000"),
    ),
)  # fmt: skip
B200 = Product(
    "NVIDIA B200", 0x2901, 0x1999, vbios="97.00.82.00.1C",
    nvml=(
        ("DeviceGetMemoryInfo", "value 192265846784"), ("DeviceGetCudaComputeCapability", "value 10 0"),
        ("DeviceGetEnforcedPowerLimit", "value 1000000"), ("DeviceGetPowerManagementDefaultLimit", "value 1000000"),
    ),
)  # fmt: skip
_A100_SWITCHES = tuple(f"0000:{bus}:00.0" for bus in ("e2", "e3", "e4", "e5", "e6", "e7"))
_BRIDGES = tuple(f"0000:d8:00.{function}" for function in range(4))
_LOG = "/var/log/fabricmanager.log"
_STARTED = "[Nov 10 2026 06:00:21] [INFO] [tid 870] Fabric Manager version {0} is running with the following configuration options\n"
#: The words of release 550 and later on a board with second-generation switches.
_CONFIGURED = (
    "[Nov 10 2026 06:00:29] [INFO] [tid 870] Successfully configured all the available GPUs and NVSwitches to route NVLink traffic.\n"
)


def _board(
    root: Path,
    name: str,
    product: Product,
    places: tuple[Place, ...] = HGX,
    *,
    vm: tuple[str, str] = ("", ""),
    above: "Callable[[Place], tuple[str, ...]] | None" = None,
) -> Tree:
    """A Kubernetes node with these GPUs and a fabric manager that has done its work; the switches are the caller's."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, name)
    driver_of_cuda_repository(tree)
    packages.dpkg(tree, dict.fromkeys(packages.SWITCH_PACKAGES, f"{DRIVER}-1ubuntu1"), held=packages.SWITCH_PACKAGES)
    driver.load_driver(tree)
    gpus.install_gpus(tree, product, places, above=above)
    persist(tree)
    for file, word in zip(("sys_vendor", "product_name"), vm, strict=True):
        tree.write(f"/sys/class/dmi/id/{file}", f"{word}\n")
    start = "/usr/bin/nvidia-fabricmanager-start.sh --mode start"
    system.unit(tree, "nvidia-fabricmanager.service", system.service("NVIDIA fabric manager service", start))
    argv = ("/usr/bin/nv-fabricmanager", "-c", "/usr/share/nvidia/nvswitch/fabricmanager.cfg")
    system.run(tree, Daemon(870, argv, "nvidia-fabricmanager.service"))
    tree.write(_LOG, _STARTED.format(DRIVER) + _CONFIGURED, time=BOOTED_AT + 29)
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"})
    containers.install_containerd(tree)
    kubelets.kubeadm(tree)
    containers.cdi(tree, len(places))
    return tree


@claims(source="lspci of HGX A100 boards in awslabs/amazon-eks-ami")
def hgx_a100(root: Path) -> Tree:
    """Eight A100 under six NVSwitches; A100 tells NVML nothing of its fabric."""
    tree = _board(root, "hgx-a100-03", A100)
    gpus.install_switches(tree, _A100_SWITCHES, 0x1AF1)
    return tree


@claims("nvswitch.manager_errors", twin="hgx-a100", source="Fabric Manager User Guide, FM_STAY_RESIDENT_ON_FAILURES")
def hgx_a100_manager_stayed(root: Path) -> Tree:
    """FM_STAY_RESIDENT_ON_FAILURES=1: the fabric manager runs and has not done its work, CUDA answers 802."""
    tree = hgx_a100(root)
    error = "[Nov 10 2026 06:00:24] [ERROR] [tid 870] failed to initialize NVSwitch at physical id 9 pci bus id 00000000:E3:00.0\n"
    tree.write(_LOG, _STARTED.format(DRIVER) + error, time=BOOTED_AT + 24)
    return tree


#: Functions that lead to the switches, as siderolabs/extensions issue 893 shows them beside eight rails: names and GUIDs.
_MANAGERS = {f"mlx5_{8 + at}": f"cc40:f303:0027:f6{0x2E + at:02x}" for at in range(len(_BRIDGES))}


@claims(source="Fabric Manager User Guide, HGX B200; siderolabs/extensions issue 893")
def hgx_b200(root: Path) -> Tree:
    """Eight B200 with a rail of InfiniBand each: PCI shows no NVSwitch, four functions of a ConnectX-7 lead to them, nvlsm runs beside
    the fabric manager; DOCA-OFED with nvidia_peermem."""
    tree = _board(root, "hgx-b200-11", B200, above=rails.switch)
    rails.infiniband(tree, HGX)
    for address, (name, guid) in zip(_BRIDGES, _MANAGERS.items(), strict=True):
        place = Place(address, 1, HGX[-1].cpus)
        pcibus.nic(tree, pcibus.CONNECTX_7, place, rdma=Hca(name, guid=guid, lid=1, sm_lid=1, board="NVD0000000054", mtu=0))
        tree.write(f"/sys/bus/pci/devices/{address}/vpd", b"\x82\x22\x00Nvidia ConnectX-7 mezz\x90\x10\x00V3\x0dSMDL=SW_MNG\x78")
    rails.everything_else(tree, HGX[0].cpus)
    rdma.stack(tree, ofed="24.10-1.1.4", peermem=True)
    packages.dpkg(tree, {"nvlsm": "2025.10.11-1", "doca-ofed": "2.9.1-018000", "mlnx-ofed-kernel-dkms": "24.10.OFED.24.10.1.1.4.1-1"})
    argv = ("/opt/nvidia/nvlsm/sbin/nvlsm", "-F", "/usr/share/nvidia/nvlsm/nvlsm.conf", "-B")
    system.run(tree, Daemon(872, argv, "nvidia-fabricmanager.service"))
    return tree


@claims(never=BOARD, source="aws-parallelcluster-cookbook pull request 3098")
def p5_vm(root: Path) -> Tree:
    """EC2 p5.48xlarge: a virtual machine that has the whole board, eight H100 and four NVSwitches."""
    tree = _board(root, "ip-10-0-31-7", gpus.H100, vm=("Amazon EC2", "p5.48xlarge"))
    gpus.install_switches(tree)
    return tree


@claims("nvswitch.board", never=BOARD, twin="p5-vm", source="gpu-operator issue 2511")
def p5_vm_seven_gpus(root: Path) -> Tree:
    """The same with seven of its eight GPUs: none of the sets that NVIDIA documents."""
    tree = _board(root, "ip-10-0-31-7", gpus.H100, HGX[:7], vm=("Amazon EC2", "p5.48xlarge"))
    gpus.install_switches(tree)
    return tree


@claims("nvswitch.board", twin="hgx-h100-ubuntu2404")
def hgx_h100_three_switches(root: Path) -> Tree:
    """One NVSwitch is gone from PCI; the driver lists the others."""
    tree = hgx_h100(root)
    lost = gpus.SWITCHES[-1]
    for path in (f"/sys/bus/pci/devices/{lost}", f"/proc/driver/nvidia-nvswitch/devices/{lost}", "/dev/nvidia-nvswitch3"):
        tree.remove(path)
    return tree


@claims("nvswitch.links", twin="hgx-h100-ubuntu2404")
def hgx_h100_links_down(root: Path) -> Tree:
    """All NVLinks of all GPUs are down: no GPU differs from its peers."""
    tree = hgx_h100(root)
    gpus.fault(tree, f"DeviceGetNvLinkState * value {' '.join('0' * 18)}")
    return tree
