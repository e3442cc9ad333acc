"""HGX hosts: one healthy, and the same with one thing broken. Each function builds one below an empty directory."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.trees import containers, driver, gpus, kubelets, nccl, netdevs, packages, pciconfig, rails, rdma, system, topology
from tests.trees.claim import claims
from tests.trees.packages import TOOLKIT
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, NOW, Tree

DRIVER, _OLDER_DRIVER = "580.178.04", "580.173.02"
TOOLKIT_VERSION = "1.19.1"
KERNEL, _NEXT_KERNEL = "6.8.0-87-generic", "6.8.0-90-generic"
_PERSISTENCED = Daemon(850, ("/usr/bin/nvidia-persistenced", "--verbose"), "nvidia-persistenced.service")
_MANAGER = Daemon(870, ("/usr/bin/nv-fabricmanager", "-c", "/usr/share/nvidia/nvswitch/fabricmanager.cfg"), "nvidia-fabricmanager.service")
_MANAGER_LOG = (
    "[Nov 10 2026 06:00:21] [INFO] [tid 870] Fabric Manager version {0} is running with the following configuration options\n"
    "[Nov 10 2026 06:00:21] [INFO] [tid 870] Logging level = INFO\n"
)
_LOST = "0000:9d:00.0"
#: Two processors of 64 cores with two threads each.
SOCKETS = (topology.Node(0, "0-63,128-191", 0, 1008), topology.Node(1, "64-127,192-255", 1, 1008))
PLACES = tuple(replace(place, cpus=SOCKETS[place.numa_node].cpus) for place in gpus.HGX)
CPUS = (SOCKETS[0].cpus, SOCKETS[1].cpus)


@claims(
    source="NVIDIA, HGX H100 and Fabric Manager User Guide; Kubernetes, Container Runtimes; imbue-ai/cluster-health issue 4; "
    "deepseek-ai/DeepEP issue 38"
)
def hgx_h100(root: Path) -> Tree:
    """Eight H100 under NVSwitches with a rail of InfiniBand each, Ubuntu 24.04, containerd 2 under Kubernetes, everything as it should be."""
    return hgx(root, inbox)


def hgx_h100_here(root: Path) -> Tree:
    """The same for a process that asks this machine how much of the volume is free."""
    return kubelets.evict_nothing(hgx_h100(root))


def hgx(root: Path, nics: Callable[[Tree], None], flavour: str = "open") -> Tree:
    """That host with other network cards, or the other kernel module."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER, flavour=flavour)
    ubuntu(tree, "gpu-h100-01")
    driver_of_cuda_repository(tree)
    packages.dpkg(tree, dict.fromkeys(packages.SWITCH_PACKAGES, f"{DRIVER}-1ubuntu1"), held=packages.SWITCH_PACKAGES)
    driver.load_driver(tree)
    topology.install(tree, SOCKETS, smt=True, governor="performance")
    gpus.install_gpus(tree, gpus.H100, PLACES, above=rails.switch)
    nics(tree)
    netdevs.pods(tree)
    gpus.install_switches(tree)
    gpus.function(tree, "0000:03:00.0", 0x1A03, 0x2000, 0x030000, driver="ast")  # the board's own display
    pciconfig.isolate(tree)
    persist(tree)
    system.unit(
        tree,
        "nvidia-fabricmanager.service",
        system.service("NVIDIA fabric manager service", "/usr/bin/nvidia-fabricmanager-start.sh --mode start"),
    )
    system.run(tree, _MANAGER)
    tree.write(
        "/var/log/fabricmanager.log",
        _MANAGER_LOG.format(DRIVER) + "[Nov 10 2026 06:00:29] [INFO] [tid 870] Successfully configured all the available NVSwitches\n",
        time=BOOTED_AT + 29,
    )
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"})
    containers.install_containerd(tree)
    kubelets.kubeadm(tree)
    kubelets.give_devices(tree, {"nvidia.com/gpu": [gpus.uuid(minor) for minor in range(len(gpus.HGX))]})
    kubelets.keep_cpus(tree, "none", "")
    kubelets.keep_memory(tree)
    containers.cdi(tree, len(gpus.HGX))
    nccl.package(tree)
    nccl.settings(tree, "NCCL_NET=IB")
    return tree


def inbox(tree: Tree) -> None:
    """Rails of InfiniBand with the kernel's own drivers."""
    rails.infiniband(tree, PLACES)
    rails.others(tree, CPUS)
    rdma.stack(tree)


def ubuntu(tree: Tree, hostname: str) -> None:
    system.install_os(tree, "ubuntu2404", hostname)
    system.install_kernel(tree, tree.kernel)
    system.boot(tree, hostname)
    tree.write("/etc/default/grub", "GRUB_DEFAULT=0\nGRUB_TIMEOUT=0\n")
    _ubuntu_kernel_packages(tree, tree.kernel)
    packages.dpkg(
        tree, {"apt": "2.8.3", "unattended-upgrades": "2.9.1+nmu4ubuntu1", "systemd": "255.4-1ubuntu8.11", "bash": "5.2.21-2ubuntu4"}
    )
    system.run(tree, Daemon(700, ("/usr/lib/systemd/systemd-timesyncd",), "systemd-timesyncd.service", started_s=8))
    packages.apt(tree, "ubuntu2404")


def _ubuntu_kernel_packages(tree: Tree, release: str) -> None:
    names = ("linux-image-{}", "linux-headers-{}", "linux-modules-{}", "linux-modules-extra-{}")
    packages.dpkg(tree, {name.format(release): f"{release.removesuffix('-generic')}.{release.split('-')[1]}" for name in names})


def driver_of_cuda_repository(tree: Tree) -> None:
    """NVIDIA's own packages with the module by DKMS, held."""
    version = f"{tree.driver}-1ubuntu1"
    firmware = f"nvidia-firmware-580-{tree.driver}"
    names = packages.CUDA_UBUNTU if tree.flavour == "open" else tuple(name.removesuffix("-open") for name in packages.CUDA_UBUNTU)
    held = (*names, firmware)
    packages.dpkg(tree, dict.fromkeys(held, version), held=held, maintainer="NVIDIA CORPORATION <packages@nvidia.com>")
    packages.automatic(tree, "dkms", firmware, *(name for name in names if name.startswith("libnvidia")))
    packages.dpkg(tree, {"dkms": "3.0.11-1ubuntu13", "nvidia-driver-pinning-580": "580-1ubuntu1"})
    driver.install_module(tree, tree.kernel)
    driver.install_dkms(tree, tree.kernel)
    driver.install_userland(tree)
    driver.keep_nouveau_out(tree)
    own_libraries(tree, "libnvidia-compute-580", tree.driver)


def own_libraries(tree: Tree, package: str, version: str) -> None:
    packages.files_of(tree, package, *(f"{tree.libraries}/{name}.so.{version}" for name in ("libcuda", "libnvidia-ml")))


def persist(tree: Tree) -> None:
    system.unit(
        tree, "nvidia-persistenced.service",
        system.service("NVIDIA Persistence Daemon", "/usr/bin/nvidia-persistenced --verbose", service_more="Type=forking\n"),
    )  # fmt: skip
    system.run(tree, _PERSISTENCED)
    driver.persist(tree)


def toolkit(tree: Tree, version: str = TOOLKIT_VERSION) -> None:
    packages.dpkg(tree, dict.fromkeys(TOOLKIT, f"{version}-1"), held=TOOLKIT)
    packages.pin(tree, "nvidia-container-toolkit", f"{version}-1", *TOOLKIT)
    containers.install_toolkit(tree)


@claims("driver.library_match", twin="hgx-h100-ubuntu2404")
def hgx_h100_userland_upgraded(root: Path) -> Tree:
    """The driver's packages were upgraded six days ago; the old module is still loaded."""
    tree = hgx_h100(root)
    tree.write("/sys/module/nvidia/version", f"{_OLDER_DRIVER}\n")
    tree.write("/sys/module/nvidia/srcversion", f"{driver.srcversion(_OLDER_DRIVER, 'open')}\n")
    tree.edit("/proc/driver/nvidia/version", DRIVER, _OLDER_DRIVER)
    gpus.fault(tree, "Init * error 18")
    system.log_kernel(
        tree,
        f"NVRM: API mismatch: the client has the version {DRIVER}, but",
        f"NVRM: this kernel module has the version {_OLDER_DRIVER}.  Please",
    )
    upgraded_at = NOW - 6 * 86400
    for name in ("gsp_ga10x.bin", "gsp_tu10x.bin"):  # its package has the version in its name, and stays
        tree.write(f"/lib/firmware/nvidia/{_OLDER_DRIVER}/{name}", "firmware\n")
    driver.install_userland(tree, time=upgraded_at)
    modules = f"/lib/modules/{KERNEL}"
    built = (f"{modules}/updates/dkms/{path.name}" for path in tree.at(f"{modules}/updates/dkms").iterdir())
    tree.touch(upgraded_at, *built, f"{modules}/modules.dep", f"/boot/initrd.img-{KERNEL}")
    containers.cdi(tree, len(gpus.HGX), version=_OLDER_DRIVER)  # of this boot; now NVML does not answer who would renew it
    tree.write("/run/reboot-required", "*** System restart required ***\n", time=upgraded_at)
    tree.write("/run/reboot-required.pkgs", "nvidia-dkms-580-open\n", time=upgraded_at)
    return tree


@claims("kernel.next_has_module", twin="hgx-h100-ubuntu2404")
def hgx_h100_next_kernel_without_module(root: Path) -> Tree:
    """A newer kernel came without its headers: DKMS built nothing for it, and the next boot takes it."""
    tree = hgx_h100(root)
    system.install_kernel(tree, _NEXT_KERNEL, headers=False)
    packages.dpkg(tree, {f"linux-image-{_NEXT_KERNEL}": "6.8.0-90.91", f"linux-modules-{_NEXT_KERNEL}": "6.8.0-90.91"})
    tree.write("/run/reboot-required", "*** System restart required ***\n", time=NOW - 86400)
    tree.write("/run/reboot-required.pkgs", f"linux-image-{_NEXT_KERNEL}\n", time=NOW - 86400)
    return tree


@claims("gpu.on_bus", twin="hgx-h100-ubuntu2404")
def hgx_h100_gpu_off_the_bus(root: Path) -> Tree:
    """One GPU fell off the bus: PCI reads all ones, NVML calls it lost, the kernel logged Xid 79."""
    tree = hgx_h100(root)
    index = [place.pci for place in gpus.HGX].index(_LOST)
    directory = f"/sys/bus/pci/devices/{_LOST}"
    tree.write(f"{directory}/current_link_speed", "Unknown\n")
    tree.write(f"{directory}/current_link_width", "63\n")
    tree.write(f"{directory}/config", b"\xff" * 64)
    gpus.fault(tree, f"* {index} error 15")
    system.log_kernel(
        tree,
        f"NVRM: Xid (PCI:{_LOST[:-2]}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
        f"NVRM: GPU {_LOST}: GPU has fallen off the bus.",
        f"NVRM: Xid (PCI:{_LOST[:-2]}): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)",
    )
    return tree


@claims("driver.package_set_equal", twin="hgx-h100-ubuntu2404")
def hgx_h100_fabricmanager_mismatch(root: Path) -> Tree:
    """The fabric manager's package moved to a newer branch alone, and refuses the driver: CUDA error 802."""
    newer = "590.48.01"
    tree = hgx_h100(root)
    packages.set_version(tree, "nvidia-fabricmanager", f"{newer}-1ubuntu1")
    packages.release(tree, "nvidia-fabricmanager")
    system.stop(tree, _MANAGER.pid, "nvidia-fabricmanager.service")
    refusal = f"fabric manager NVIDIA GPU driver interface version {newer} don't match with driver version {DRIVER}. Please update with matching NVIDIA driver package."
    tree.append(
        "/var/log/fabricmanager.log",
        _MANAGER_LOG.format(newer) + f"[Nov 10 2026 06:00:22] [ERROR] [tid 870] {refusal}\n",
        time=BOOTED_AT + 29,
    )
    gpus.fault(tree, "DeviceGetGpuFabricInfoV * value 2 0 0 0")
    return tree
