"""Hosts whose GPUs are in a state that stops jobs, and healthy ones in a state that looks like it."""

import os
from collections.abc import Callable
from pathlib import Path

from tests.trees import boards, driver, gpus, system, workers
from tests.trees.claim import BOARD, claims
from tests.trees.gpus import HGX, Place, Product
from tests.trees.hosts import DRIVER, KERNEL, driver_of_cuda_repository, hgx_h100, persist, toolkit, ubuntu
from tests.trees.system import Daemon, hold
from tests.trees.tree import Tree

H100_PCIE = Product(
    "NVIDIA H100 PCIe", 0x2331, 0x1626, vbios="96.00.30.00.01",
    nvml=(
        ("DeviceGetMigMode", "value 1 1"), ("DeviceGetMigDeviceHandleByIndex", "value 7"), ("DeviceGetNvLinkState", "error 3"),
        ("DeviceGetGpuFabricInfoV", "error 3"), ("DeviceGetEnforcedPowerLimit", "value 350000"),
        ("DeviceGetPowerManagementDefaultLimit", "value 350000"),
    ),
)  # fmt: skip
#: A vGPU of a host's A40: it has no ECC mode of its own, no rows to remap and no link.
A40_8C = Product(
    "NVIDIA A40-8C", 0x2235, 0x14D5, speed="16.0 GT/s PCIe", vbios="00.00.00.00.00",
    nvml=(
        ("DeviceGetMemoryInfo", "value 8589934592"), ("DeviceGetCudaComputeCapability", "value 8 6"), ("DeviceGetMigMode", "error 3"),
        ("DeviceGetRemappedRows", "error 3"), ("DeviceGetNvLinkState", "error 3"), ("DeviceGetGpuFabricInfoV", "error 3"),
        ("DeviceGetSramEccErrorStatus", "error 3"), ("DeviceGetEnforcedPowerLimit", "error 3"),
        ("DeviceGetPowerManagementDefaultLimit", "error 3"), ("DeviceGetVirtualizationMode", "value 2"),
        ("DeviceGetGridLicensableFeatures", "value 1 1"),
    ),
)  # fmt: skip
_GIB = 1024**3
_USED = f"DeviceGetMemoryInfo_v2 1 value {10 * _GIB} 471859200"
_PARTED = "nvidia-mig-manager.service"


def _batch(root: Path, name: str, product: Product, places: tuple[Place, ...]) -> Tree:
    """A worker of Slurm."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, name)
    driver_of_cuda_repository(tree)
    driver.load_driver(tree)
    gpus.install_gpus(tree, product, places)
    persist(tree)
    toolkit(tree)
    for path in ("/usr/sbin/slurmd", "/usr/bin/enroot", "/usr/bin/runc"):
        tree.program(path)
    system.unit(tree, "slurmd.service", system.service("Slurm node daemon", "/usr/sbin/slurmd --systemd $SLURMD_OPTIONS"))
    system.run(tree, Daemon(1300, ("/usr/sbin/slurmd", "--systemd"), "slurmd.service", started_s=40))
    return tree


@claims("gpu.leftover_memory", twin="slurm-gres", source="microsoft/pai issue 3372; qizhou000/VisEdit issue 5")
def slurm_gres_leftover_memory(root: Path) -> Tree:
    """A job was killed and left 10 GiB on GPU 1; only the driver's own daemon has the GPU's node open, and a job runs on GPU 0."""
    tree = workers.slurm_gres(root)
    _job(tree, "/dev/nvidia0")
    gpus.fault(tree, _USED, f"DeviceGetMemoryInfo_v2 0 value {5 * _GIB} 471859200", "DeviceGetRunningProcesses 0 value 1 0 0")
    return tree


@claims(twin="slurm-gres", source="nvidia-smi in a container: processes of other pid namespaces are not listed")
def slurm_gres_job_in_a_container(root: Path) -> Tree:
    """GPU 1 has 10 GiB in use and NVML lists no process: one in a container has its node open."""
    tree = workers.slurm_gres(root)
    _job(tree, "/dev/nvidia1")
    gpus.fault(tree, _USED)
    return tree


def _job(tree: Tree, node: str) -> None:
    system.run(tree, Daemon(4100, ("/usr/bin/python3", "train.py"), cgroup="/system.slice/slurmd.service/step_0", uid=1000))
    hold(tree, 4100, "/dev/nvidiactl", "/dev/nvidia-uvm", node)


@claims(
    "gpu.answers", twin="hgx-h100-ubuntu2404", source="nvidia-smi: Unable to determine the device handle for GPU0000:52:00.0: Unknown Error"
)
def hgx_h100_gpu_without_answer(root: Path) -> Tree:
    """NVML lists eight GPUs and gets no handle of one: unknown error (999)."""
    tree = hgx_h100(root)
    gpus.fault(tree, "DeviceGetHandleByIndex 2 error 999")
    return tree


@claims("gpu.answers", twin="slurm-gres", source="nvml.h, NVML_ERROR_DRIVER_NOT_LOADED")
def slurm_gres_driver_left_a_gpu(root: Path) -> Tree:
    """NVML started; about GPU 3 alone it says "driver not loaded" as soon as it has its name."""
    tree = workers.slurm_gres(root)
    gpus.fault(tree, "* 3 after 3 error 9")
    return tree


@claims("gpu.drained", twin="slurm-gres", source="nvidia-smi(1), drain")
def slurm_gres_gpu_drained(root: Path) -> Tree:
    """An administrator drained a GPU for its maintenance and did not set it back: NVML counts three of four."""
    tree = workers.slurm_gres(root)
    gpus.fault(tree, "DeviceGetCount * value 3", f"DeviceQueryDrainState * value {HGX[3].pci[:-2]}")
    return tree


@claims(source="NVIDIA/mig-parted, deployments/systemd")
def batch_mig(root: Path) -> Tree:
    """Two H100 PCIe cut into seven slices each at boot, by nvidia-mig-manager of NVIDIA's mig-parted."""
    tree = _batch(root, "slices-02", H100_PCIE, HGX[:2])
    for minor in range(2):
        for instance in range(7, 14):
            _slice(tree, minor, instance)
    system.unit(tree, _PARTED, system.service("Configure MIG on NVIDIA GPUs", "/etc/nvidia-mig-manager/service.sh"))
    return tree


@claims("gpu.mig_instances", twin="batch-mig", source="NVIDIA Multi-Instance GPU User Guide: instances do not survive a reboot")
def batch_mig_slices_gone(root: Path) -> Tree:
    """The unit that makes the slices is disabled: MIG outlived the reboot, the slices did not."""
    tree = batch_mig(root)
    tree.remove(f"/etc/systemd/system/multi-user.target.wants/{_PARTED}")
    _no_slices(tree)
    return tree


@claims(twin="batch-mig")
def batch_mig_about_to_be_made(root: Path) -> Tree:
    """The same moment with the unit enabled: it makes the slices."""
    tree = batch_mig(root)
    _no_slices(tree)
    return tree


@claims(twin="batch-mig", source="NVIDIA Multi-Instance GPU User Guide, Device Nodes and Capabilities")
def batch_mig_seen_by_the_driver_alone(root: Path) -> Tree:
    """NVML shows hostagent no slice, since it may open none; the driver's own list has them."""
    tree = batch_mig(root)
    tree.remove(f"/etc/systemd/system/multi-user.target.wants/{_PARTED}")
    gpus.fault(tree, "DeviceGetMigDeviceHandleByIndex * value 0")
    return tree


def _slice(tree: Tree, minor: int, instance: int) -> None:
    place = f"/proc/driver/nvidia/capabilities/gpu{minor}/mig/gi{instance}"
    for number, path in enumerate((place, f"{place}/ci0")):
        tree.write(f"{path}/access", f"DeviceFileMinor: {100 * minor + 9 * instance + number}\nDeviceFileMode: 292\nDeviceFileModify: 1\n")


def _no_slices(tree: Tree) -> None:
    for minor in range(2):
        place = f"/proc/driver/nvidia/capabilities/gpu{minor}/mig"
        tree.remove(place)
        tree.directory(place)
    gpus.fault(tree, "DeviceGetMigDeviceHandleByIndex * value 0")


@claims(never=BOARD, source="NVIDIA vGPU Software, Client Licensing User Guide")
def vgpu_guest(root: Path) -> Tree:
    """A virtual machine with a quarter of an A40 as a vGPU, and its license."""
    tree = _batch(root, "vdi-compute-9", A40_8C, (Place("0000:02:00.0", -1, "0-15"),))
    for file, word in (("sys_vendor", "VMware, Inc."), ("product_name", "VMware20,1")):
        tree.write(f"/sys/class/dmi/id/{file}", f"{word}\n")
    return tree


@claims("gpu.vgpu_license", never=BOARD, twin="vgpu-guest")
def vgpu_guest_unlicensed(root: Path) -> Tree:
    """Its client token has expired: the license service gives none."""
    tree = vgpu_guest(root)
    gpus.fault(tree, "DeviceGetGridLicensableFeatures * value 1 0")
    return tree


@claims(
    "gpu.confidential_ready", twin="slurm-gres", source="NVIDIA Confidential Computing Deployment Guide: nvidia-smi conf-compute -srs 1"
)
def slurm_gres_not_attested(root: Path) -> Tree:
    """Confidential computing is on, and nothing has attested the GPUs: CUDA answers 802."""
    tree = workers.slurm_gres(root)
    gpus.fault(tree, "SystemGetConfComputeState * value 1 1 0")
    return tree


@claims(twin="slurm-gres-not-attested")
def slurm_gres_attested(root: Path) -> Tree:
    """The same with the GPUs attested and set ready."""
    tree = slurm_gres_not_attested(root)
    gpus.fault(tree, "SystemGetConfComputeGpusReadyState * value 1")
    return tree


@claims("nvswitch.fabric_mode", twin="hgx-h100-ubuntu2404", source="Fabric Manager User Guide, Shared NVSwitch Virtualization Model")
def hgx_h100_shared_mode(root: Path) -> Tree:
    """FABRIC_MODE=1 came with the configuration of a virtualisation host: no partition is activated, the GPUs join no fabric."""
    tree = hgx_h100_partition(root)
    gpus.fault(tree, "DeviceGetGpuFabricInfoV * value 1 0 0 0")
    return tree


@claims(twin="hgx-h100-ubuntu2404", source="Fabric Manager User Guide, Shared NVSwitch Virtualization Model")
def hgx_h100_partition(root: Path) -> Tree:
    """FABRIC_MODE=1 with the partition of all eight GPUs activated."""
    tree = hgx_h100(root)
    gpus.set_fabric_mode(tree, 1)
    return tree


@claims("nvswitch.nvlsm_modules", twin="hgx-b200", source="NVIDIA Fabric Manager User Guide, section NVLink Subnet Manager")
def hgx_b200_bridges_without_driver(root: Path) -> Tree:
    """After an update of the kernel no module of the ConnectX-7 is there: nothing leads to the NVLink 5 switches, and no rail works."""
    tree = boards.hgx_b200(root)
    _remove(tree, "/sys/class/infiniband", "/sys/class/infiniband_verbs", "/sys/class/infiniband_mad", "/dev/infiniband", "/proc/872")
    for name in ("nvidia_peermem", "ib_umad", "mlx5_ib", "mlx5_core"):
        tree.edit("/proc/modules", f"{name} 16384 0 - Live 0x0000000000000000\n", "")
        tree.remove(f"/sys/module/{name}")
    names = {one.name: os.path.realpath(one / "device") for one in tree.at("/sys/class/net").iterdir()}
    for device in tree.at("/sys/bus/pci/devices").iterdir():
        path = f"/sys/bus/pci/devices/{device.name}"
        if tree.text(f"{path}/vendor") == "0x15b3\n":
            _remove(tree, *(f"/sys/class/net/{name}" for name, place in names.items() if place == os.path.realpath(device)))
            _remove(tree, *(f"{path}/{name}" for name in ("driver", "net", "infiniband", "infiniband_mad", "infiniband_verbs")))
    gpus.fault(tree, "DeviceGetGpuFabricInfoV * value 2 0 0 0")
    return tree


def _remove(tree: Tree, *paths: str) -> None:
    for path in paths:
        place = tree.at(path)
        if place.exists() or place.is_symlink():
            tree.remove(path)


RECIPES: dict[str, Callable[[Path], Tree]] = {
    "slurm-gres-leftover-memory": slurm_gres_leftover_memory,
    "slurm-gres-job-in-a-container": slurm_gres_job_in_a_container,
    "hgx-h100-gpu-without-answer": hgx_h100_gpu_without_answer,
    "slurm-gres-driver-left-a-gpu": slurm_gres_driver_left_a_gpu,
    "slurm-gres-gpu-drained": slurm_gres_gpu_drained,
    "batch-mig": batch_mig,
    "batch-mig-slices-gone": batch_mig_slices_gone,
    "batch-mig-about-to-be-made": batch_mig_about_to_be_made,
    "batch-mig-seen-by-the-driver-alone": batch_mig_seen_by_the_driver_alone,
    "vgpu-guest": vgpu_guest,
    "vgpu-guest-unlicensed": vgpu_guest_unlicensed,
    "slurm-gres-not-attested": slurm_gres_not_attested,
    "slurm-gres-attested": slurm_gres_attested,
    "hgx-h100-shared-mode": hgx_h100_shared_mode,
    "hgx-h100-partition": hgx_h100_partition,
    "hgx-b200-bridges-without-driver": hgx_b200_bridges_without_driver,
}
