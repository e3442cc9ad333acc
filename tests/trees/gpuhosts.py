"""Hosts with GPUs that are not all for jobs, and with a kernel log that has something to say; each with a twin of one named change."""

import json
from pathlib import Path

from tests.trees import containers, driver, gpus, kubelets, packages, system, topology
from tests.trees.claim import BOARD, UNBIND, claims
from tests.trees.gpus import HGX, Place, Product
from tests.trees.hosts import DRIVER, KERNEL, driver_of_cuda_repository, persist, toolkit, ubuntu
from tests.trees.others import t4_workstation_docker
from tests.trees.tree import Tree

_NO_FABRIC = (("DeviceGetNvLinkState", "error 3"), ("DeviceGetGpuFabricInfoV", "error 3"))
L40S = Product(
    "NVIDIA L40S", 0x26B9, 0x1851, speed="16.0 GT/s PCIe", vbios="95.02.66.00.02",
    nvml=(
        *_NO_FABRIC, ("DeviceGetMemoryInfo", "value 48305799168"), ("DeviceGetCudaComputeCapability", "value 8 9"),
        ("DeviceGetMigMode", "error 3"), ("DeviceGetEnforcedPowerLimit", "value 350000"), ("DeviceGetPowerManagementDefaultLimit", "value 350000"),
    ),
)  # fmt: skip
A10G = Product(
    "NVIDIA A10G", 0x2237, 0x152F, speed="16.0 GT/s PCIe", vbios="94.02.75.00.01",
    nvml=(
        *_NO_FABRIC, ("DeviceGetMemoryInfo", "value 24146608128"), ("DeviceGetCudaComputeCapability", "value 8 6"),
        ("DeviceGetMigMode", "error 3"), ("DeviceGetEnforcedPowerLimit", "value 300000"), ("DeviceGetPowerManagementDefaultLimit", "value 300000"),
    ),
)  # fmt: skip
#: ECC is off as it comes; the class is that of a display card.
A6000 = Product(
    "NVIDIA RTX A6000", 0x2230, 0x1459, kind=0x030000, speed="16.0 GT/s PCIe", vbios="94.02.5C.00.02",
    nvml=(
        *_NO_FABRIC, ("DeviceGetMemoryInfo", "value 51527024640"), ("DeviceGetCudaComputeCapability", "value 8 6"), ("DeviceGetEccMode", "value 0 0"),
        ("DeviceGetMigMode", "error 3"), ("DeviceGetEnforcedPowerLimit", "value 300000"), ("DeviceGetPowerManagementDefaultLimit", "value 300000"),
    ),
)  # fmt: skip
GT710 = Product("GK208B [GeForce GT 710]", 0x128B, 0x118B, kind=0x030000, speed="5.0 GT/s PCIe", width=8)
#: What the GPU of a DGX Spark answers to nvidia-smi: no memory of its own, no ECC, no power limit.
GB10 = Product(
    "NVIDIA GB10", 0x2E12, 0x21EC, vbios="9A.0B.1E.00.00",
    nvml=(
        *_NO_FABRIC, ("DeviceGetCudaComputeCapability", "value 12 1"),
        *((f"DeviceGet{call}", "error 3") for call in (
            "MemoryInfo", "MigMode", "EccMode", "TotalEccErrors", "RemappedRows", "SramEccErrorStatus", "EnforcedPowerLimit",
            "PowerManagementDefaultLimit", "RetiredPages", "RetiredPagesPendingStatus",
        )),
    ),
)  # fmt: skip
_XID_79 = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
_WANTED = "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
_NONE = "NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x2 (Node Reboot Required) to 0x0 (None)"


def _node(root: Path, name: str, vm: tuple[str, str] = ("", "")) -> Tree:
    """A Kubernetes node with NVIDIA's driver; the GPUs are the caller's."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, name)
    driver_of_cuda_repository(tree)
    driver.load_driver(tree)
    persist(tree)
    for file, word in zip(("sys_vendor", "product_name"), vm, strict=True):
        tree.write(f"/sys/class/dmi/id/{file}", f"{word}\n")
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"})
    containers.install_containerd(tree)
    kubelets.kubeadm(tree)
    return tree


def _hold(tree: Tree, places: tuple[Place, ...]) -> None:
    """For virtual machines, as the GPU Operator's vfio-manager and driverctl do it: by driver_override."""
    gpus.install_gpus(tree, L40S, places, driver="vfio-pci")
    for place in places:
        tree.write(f"/sys/bus/pci/devices/{place.pci}/driver_override", "vfio-pci\n")


@claims(never=UNBIND, source="NVIDIA/cloud-native-docs, gpu-operator/gpu-operator-kubevirt.rst")
def kubevirt_mixed(root: Path) -> Tree:
    """Four L40S: two for containers, two for the virtual machines of KubeVirt."""
    tree = _node(root, "kubevirt-gpu-2")
    gpus.install_gpus(tree, L40S, HGX[:2])
    _hold(tree, HGX[2:4])
    system.load(tree, "vfio_pci")
    containers.cdi(tree, 2)
    return tree


@claims("gpu.present", never=UNBIND, twin="kubevirt-mixed")
def kubevirt_all(root: Path) -> Tree:
    """All four are for virtual machines: the node has none for containers."""
    tree = _node(root, "kubevirt-gpu-2")
    gpus.table(tree, L40S, ())
    _hold(tree, HGX[:4])
    system.load(tree, "vfio_pci")
    return tree


@claims("gpu.passthrough", never=UNBIND, twin="kubevirt-mixed", source="Linux kernel, Documentation/ABI/testing/sysfs-bus-pci, new_id")
def kubevirt_unexplained(root: Path) -> Tree:
    """One of the two GPUs of virtual machines is bound to vfio-pci by hand (new_id): nothing says why."""
    tree = kubevirt_mixed(root)
    tree.write(f"/sys/bus/pci/devices/{HGX[3].pci}/driver_override", "(null)\n")
    return tree


def _own_cpus(tree: Tree) -> None:
    """Its kubelet gives containers CPUs of their own."""
    kind = "kind: KubeletConfiguration\n"
    tree.edit("/var/lib/kubelet/config.yaml", kind, f"{kind}cpuManagerPolicy: static\nkubeReserved:\n  cpu: 500m\n")


@claims(source="NVIDIA, Unix legacy GPUs; open-gpu-kernel-modules, README")
def workstation_display_card(root: Path) -> Tree:
    """An RTX A6000 for work, a GeForce GT 710 for the screen: no branch above 470 has the latter, nouveau drives it."""
    tree = _node(root, "desk-4")
    _own_cpus(tree)
    tree.remove("/usr/lib/modprobe.d/nvidia-blacklists-nouveau.conf")
    gpus.install_gpus(tree, A6000, HGX[:1])
    gpus.install_gpus(tree, GT710, HGX[1:2], driver="nouveau")
    system.load(tree, "nouveau")
    system.log_kernel(
        tree, "nouveau 0000:43:00.0: Direct firmware load for nvidia/gk208/gr/sw_nonctx.bin failed with error -2", "nouveau 0000:43:00.0: gr: failed"
    )  # fmt: skip
    containers.cdi(tree, 1)
    return tree


@claims("kernel.nouveau_loaded", twin="workstation-display-card")
def workstation_nouveau_has_both(root: Path) -> Tree:
    """Nouveau has taken the RTX A6000 as well."""
    tree = _node(root, "desk-4")
    _own_cpus(tree)
    tree.remove("/usr/lib/modprobe.d/nvidia-blacklists-nouveau.conf")
    gpus.table(tree, A6000, ())
    gpus.install_gpus(tree, A6000, HGX[:1], driver="nouveau")
    gpus.install_gpus(tree, GT710, HGX[1:2], driver="nouveau")
    system.load(tree, "nouveau")
    return tree


@claims(source="NVIDIA, DGX Spark User Guide")
def dgx_spark(root: Path) -> Tree:
    """A DGX Spark: one GB10, AArch64, Docker."""
    tree = Tree(root, kernel="6.14.0-1013-nvidia", driver=DRIVER, arch="aarch64")
    ubuntu(tree, "spark-71c2")
    driver_of_cuda_repository(tree)
    driver.load_driver(tree)
    topology.install(tree, (topology.Node(0, "0-19", 0, 119),), governor="performance")
    gpus.install_gpus(tree, GB10, (Place("000f:01:00.0", 0, "0-19"),))
    persist(tree)
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})
    containers.cdi(tree, 1)
    return tree


@claims(never=BOARD, source="gpu-driver-container issue 735")
def g5_manager_of_another_branch(root: Path) -> Tree:
    """EC2 g5.12xlarge of an image for all instance types: its fabric manager moved to another branch, and nothing needs it."""
    tree = _node(root, "ip-10-0-12-9", ("Amazon EC2", "g5.12xlarge"))
    gpus.install_gpus(tree, A10G, HGX[:4])
    containers.cdi(tree, 4)
    packages.dpkg(tree, {"nvidia-fabricmanager": "590.48.01-1ubuntu1"})
    for name in (*packages.CUDA_UBUNTU, f"nvidia-firmware-580-{DRIVER}"):
        packages.release(tree, name)
    tree.write("/etc/apt/apt.conf.d/20auto-upgrades", 'APT::Periodic::Unattended-Upgrade "0";\n')
    return tree


@claims("gpu.xid", never=BOARD, twin="g5-manager-of-another-branch", source="NVIDIA GPU Memory Error Management")
def g5_contained_error(root: Path) -> Tree:
    """One uncorrectable error in the memory of a GPU: contained, a row waits to be remapped, the driver asks for a reset some day."""
    tree = _node(root, "ip-10-0-12-9", ("Amazon EC2", "g5.12xlarge"))
    gpus.install_gpus(tree, A10G, HGX[:4])
    containers.cdi(tree, 4)
    gpus.fault(tree, "DeviceGetTotalEccErrors 0 value 1 1", "DeviceGetRemappedRows 0 value 0 1 1 0")
    system.log_kernel(
        tree,
        "NVRM: Xid (PCI:0000:1b:00): 63, pid=8810, name=python3, Row Remapper: New row (0x0000000000f1c7c4) marked for remapping, reset gpu to activate.",
        "NVRM: Xid (PCI:0000:1b:00): 94, pid=8810, name=python3, Contained: CE User Channel (0x9). RST: No, D-RST: No",
    )
    return tree


@claims("gpu.xid", never=BOARD, twin="g5-contained-error")
def g5_uncontained_error(root: Path) -> Tree:
    """The same error, not contained."""
    tree = g5_contained_error(root)
    system.log_kernel(tree, "NVRM: Xid (PCI:0000:1b:00): 95, pid=8810, name=python3, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No")
    return tree


@claims(twin="t4-workstation-docker", source="NVIDIA, Xid errors: 79 and 154")
def t4_xid_before_reset(root: Path) -> Tree:
    """The GPU fell off the bus once; it was reset, and the driver says that nothing is wanted of it any more."""
    tree = t4_workstation_docker(root)
    system.log_kernel(tree, _XID_79, _WANTED, _NONE)
    return tree


@claims("gpu.xid", twin="t4-xid-before-reset")
def t4_xid_after_reset(root: Path) -> Tree:
    """It fell off again after the reset."""
    tree = t4_xid_before_reset(root)
    system.log_kernel(tree, _XID_79)
    return tree


@claims(twin="t4-xid-after-reset")
def t4_xid_cleared(root: Path) -> Tree:
    """An administrator tested the GPU and said that its faults no longer count."""
    tree = t4_xid_after_reset(root)
    word = {"subject": "0000:1b:00.0", "upto": 1.75, "at": 5400.0, "reason": "dcgmi diag -r 3 passed, ticket 4711"}
    said = {"schema_version": 1, "boot_id": tree.text("/proc/sys/kernel/random/boot_id").strip(), "cleared": [word]}
    tree.write("/run/hostagent/cleared.json", json.dumps(said))
    return tree


@claims("gpu.xid", twin="t4-workstation-docker")
def t4_log_wrapped(root: Path) -> Tree:
    """The ring buffer has lost all but the last hour, and there is no journal."""
    tree = t4_workstation_docker(root)
    tree.write("/dev/kmsg", "".join(f"6,{90_000 + at},{882_000_000_000 + at},-;eth0: renamed from veth{at:04x}\n" for at in range(40)))
    return tree


@claims(twin="t4-workstation-docker")
def t4_nouveau_boot_line(root: Path) -> Tree:
    """Nouveau looked for a file of firmware at boot, before the driver took the GPU."""
    tree = t4_workstation_docker(root)
    system.log_kernel(tree, "nouveau 0000:1b:00.0: Direct firmware load for nvidia/tu104/gsp/gsp-535.113.01.bin failed with error -2")
    return tree
