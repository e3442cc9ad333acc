"""Hosts of other kinds: driver container, RHEL family, Debian, k3s, Docker, Grace."""

from pathlib import Path

from tests.trees import containers, driver, gpus, kubelets, packages, pcibus, rdma, system, topology
from tests.trees.claim import PACKAGES, RUNTIME_CONFIGURATION, claims
from tests.trees.hosts import DRIVER, KERNEL, driver_of_cuda_repository, own_libraries, persist, toolkit, ubuntu
from tests.trees.packages import TOOLKIT
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, Tree


@claims(never=(*PACKAGES, *RUNTIME_CONFIGURATION), source="NVIDIA/gpu-operator, release 26.3, component matrix and driver container")
def gpu_operator_driver_container(root: Path) -> Tree:
    """Four H100 on PCIe whose driver and toolkit the GPU Operator's containers bring; the host itself has neither."""
    tree = Tree(root, kernel=KERNEL, driver="580.126.20")
    ubuntu(tree, "gpu-worker-07")
    for name in ("cuda-ubuntu2404-x86_64.list", "nvidia-container-toolkit.list"):
        tree.remove(f"/etc/apt/sources.list.d/{name}")
    tree.remove("/etc/apt/preferences.d/cuda-repository-pin-600")
    container = "/run/nvidia/driver"
    driver.install_userland(tree, directory=f"{container}/usr/lib/x86_64-linux-gnu", cached=False, time=BOOTED_AT + 300)
    tree.directory(f"{container}/usr/bin")
    tree.remove("/lib/firmware/nvidia")
    for name in ("gsp_ga10x.bin", "gsp_tu10x.bin"):
        tree.write(f"{container}/lib/firmware/nvidia/{tree.driver}/{name}", "firmware\n", time=BOOTED_AT + 300)
    for name in ("nvidia-smi", "nvidia-persistenced", "nvidia-modprobe"):
        tree.remove(f"/usr/bin/{name}")
    driver.keep_nouveau_out(tree, "/etc/modprobe.d/blacklist-nouveau.conf")
    driver.load_driver(tree)
    tree.write("/sys/module/firmware_class/parameters/path", f"{container}/lib/firmware\n")
    tree.append("/proc/1/mountinfo", f"900 22 0:95 / {container} rw,relatime shared:400 - overlay overlay rw\n")
    gpus.install_gpus(tree, gpus.H100, gpus.HGX[:4])
    gpus.fault(tree, "DeviceGetGpuFabricInfoV * value 0 0 0 0", "DeviceGetNvLinkState * error 3")
    for name in (".driver-ctr-ready", "driver-ready", "toolkit-ready"):
        tree.write(f"/run/nvidia/validations/{name}", "", time=BOOTED_AT + 300)
    pod = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod5c1e.slice/cri-containerd-77f0.scope"
    system.run(tree, Daemon(3050, ("nvidia-persistenced", "--persistence-mode"), started_s=290, cgroup=pod, root=container))
    driver.persist(tree)
    toolkit = "/usr/local/nvidia/toolkit"
    for name in (
        "libnvidia-container.so.1.19.0",
        "nvidia-ctk",
        "nvidia-container-runtime",
        "nvidia-container-runtime.real",
        "nvidia-cdi-hook",
    ):
        tree.program(f"{toolkit}/{name}")
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"})
    containers.install_containerd(tree, binary=f"{toolkit}/nvidia-container-runtime")
    kubelets.kubeadm(tree)
    return tree


@claims(never=("apt",), source="NVIDIA Driver Installation Guide, RHEL, module streams")
def rhel9_module_streams(root: Path, distribution: str = "rocky9", kernel: str = "5.14.0-570.12.1.el9_6.x86_64") -> Tree:
    """Rocky Linux 9 with the module stream 580-open and DKMS; what rpm answers is written down here, not asked."""
    tree = Tree(root, kernel=kernel, driver=DRIVER)
    tree.libraries = "/usr/lib64"
    system.install_os(tree, distribution, "gpu-rocky-03")
    system.install_kernel(tree, tree.kernel, headers=False, files="vmlinuz-{0} initramfs-{0}.img config-{0}")
    tree.write(f"/usr/src/kernels/{tree.kernel}/Makefile", "VERSION = 5\n")
    tree.link(f"/lib/modules/{tree.kernel}/build", f"/usr/src/kernels/{tree.kernel}")
    system.boot(tree, "gpu-rocky-03")
    _boot_entry(tree)
    tree.write("/etc/selinux/config", "SELINUX=enforcing\nSELINUXTYPE=targeted\n")
    tree.write("/sys/fs/selinux/enforce", "1")
    tree.write("/sys/fs/selinux/booleans/container_use_devices", "1 1")
    _rocky_packages(tree)
    driver.install_module(tree, tree.kernel, directory="extra", suffix=".ko.xz")
    driver.install_dkms(tree, tree.kernel)
    driver.install_userland(tree)
    packages.rpm_files(tree, "nvidia-driver-cuda-libs", *(f"/usr/lib64/{name}.so.{DRIVER}" for name in ("libcuda", "libnvidia-ml")))
    driver.keep_nouveau_out(tree)
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.T4, gpus.HGX[:2])
    persist(tree)
    system.run(tree, Daemon(640, ("/usr/sbin/chronyd", "-F", "2"), "chronyd.service", started_s=9))
    containers.install_toolkit(tree)
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}, "features": {"cdi": True}})
    containers.cdi(tree, 2)
    return tree


def _rocky_packages(tree: Tree) -> None:
    """The driver of a module stream, the toolkit, their locks, and what is around them."""
    version = f"3:{tree.driver}-1.el9"
    names = (
        "kmod-nvidia-open-dkms",
        "nvidia-driver-cuda",
        "nvidia-driver-cuda-libs",
        "nvidia-driver-libs",
        "nvidia-kmod-common",
        "nvidia-persistenced",
    )
    packages.rpm(tree, dict.fromkeys((*names, "nvidia-modprobe", "libnvidia-cfg", "libnvidia-ml"), version))
    packages.rpm(tree, dict.fromkeys(TOOLKIT, "1.19.1-1"))
    kernel = tree.kernel.removesuffix(".x86_64")
    packages.rpm(
        tree,
        dict.fromkeys(("kernel", "kernel-core", "kernel-devel", "kernel-headers"), kernel),
        vendor="Rocky Enterprise Software Foundation",
    )
    packages.rpm(tree, {"containerd.io": "2.1.5-1.el9", "docker-ce": "3:28.5.2-1.el9"}, vendor="(none)")
    packages.rpm(tree, {"dkms": "3.2.2-1.el9"}, vendor="Fedora Project")
    tree.write(
        "/etc/dnf/modules.d/nvidia-driver.module", "[nvidia-driver]\nname=nvidia-driver\nstream=580-open\nprofiles=\nstate=enabled\n"
    )
    locks = (*(f"{name}-0:1.19.1-1.*" for name in TOOLKIT), *(f"{name}-{version}.*" for name in names))
    tree.write("/etc/dnf/plugins/versionlock.list", "\n".join(locks) + "\n")
    packages.cuda_rpm_repository(tree, "rhel9")


def _boot_entry(tree: Tree) -> None:
    """GRUB of the RHEL family: a Boot Loader Specification entry, chosen by the environment block."""
    entry = f"5b0f1d2c9e8a47b6a1c3d4e5f6071829-{tree.kernel}"
    tree.write(
        f"/boot/loader/entries/{entry}.conf",
        f"title Rocky Linux ({tree.kernel}) 9.6\nversion {tree.kernel}\nlinux /vmlinuz-{tree.kernel}\n",
    )
    tree.write("/boot/grub2/grubenv", f"# GRUB Environment Block\nsaved_entry={entry}\nboot_success=1\n".ljust(1024, "#"))
    tree.write("/etc/default/grub", "GRUB_DEFAULT=saved\nGRUB_ENABLE_BLSCFG=true\n")


@claims("driver.runfile", source="NVIDIA Driver Installation Guide, runfile")
def debian12_runfile(root: Path) -> Tree:
    """Debian 12 whose driver came from NVIDIA's .run installer: no package owns it, nothing rebuilds it."""
    tree = Tree(root, kernel="6.1.0-40-amd64", driver=DRIVER, flavour="proprietary")
    system.install_os(tree, "debian12", "render-02")
    system.install_kernel(tree, tree.kernel)
    system.boot(tree, "render-02")
    tree.write("/etc/default/grub", "GRUB_DEFAULT=0\n")
    packages.dpkg(
        tree,
        {f"linux-image-{tree.kernel}": "6.1.153-1", f"linux-headers-{tree.kernel}": "6.1.153-1", "apt": "2.6.1", "bash": "5.2.15-2+b8"},
    )
    driver.install_module(tree, tree.kernel, directory="kernel/drivers/video", suffix=".ko")
    driver.install_userland(tree)
    for name in ("nvidia-installer", "nvidia-uninstall"):
        tree.program(f"/usr/bin/{name}")
    tree.write("/var/lib/nvidia/log", "/usr/bin/nvidia-installer\n")
    tree.write("/var/log/nvidia-installer.log", f"nvidia-installer log file '/var/log/nvidia-installer.log'\ndriver version: {DRIVER}\n")
    driver.keep_nouveau_out(tree, "/etc/modprobe.d/nvidia-installer-disable-nouveau.conf")
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.T4, gpus.HGX[:1])
    system.run(tree, Daemon(610, ("/usr/lib/systemd/systemd-timesyncd",), "systemd-timesyncd.service", started_s=8))
    packages.apt(tree, "debian12")
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "1.7.28-1~debian.12~bookworm", "docker-ce": "5:28.5.2-1~debian.12~bookworm"})
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})
    containers.cdi(tree, 1)
    return tree


@claims(never=RUNTIME_CONFIGURATION, source="k3s documentation, Alternative Container Runtime Support")
def k3s_worker(root: Path) -> Tree:
    """A k3s agent: it brings containerd, and writes its configuration at each start."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, "edge-gpu-1")
    driver_of_cuda_repository(tree)
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.T4, gpus.HGX[:1])
    persist(tree)
    toolkit(tree)
    containers.install_k3s(tree)
    containers.cdi(tree, 1)
    return tree


@claims(never=("dkms",), source="Ubuntu Server documentation, NVIDIA drivers: linux-modules-nvidia-580-server-open")
def t4_workstation_docker(root: Path) -> Tree:
    """One T4 and Docker; the driver is Ubuntu's own, precompiled and signed, Secure Boot is on."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, "bench")
    system.secure_boot(tree, on=True)
    tree.write("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n")
    version = f"{DRIVER}-0ubuntu0.24.04.1"
    names = (
        "libnvidia-cfg1",
        "libnvidia-compute",
        "libnvidia-decode",
        "nvidia-compute-utils",
        "nvidia-headless-no-dkms",
        "nvidia-kernel-common",
        "nvidia-utils",
    )
    server = tuple(f"{name}-580-server{'-open' if name.startswith('nvidia-headless') else ''}" for name in names)
    modules = (f"linux-modules-nvidia-580-server-open-{KERNEL}", "linux-modules-nvidia-580-server-open-generic", "linux-image-generic")
    held = (*server, f"nvidia-firmware-580-server-{DRIVER}")
    packages.dpkg(tree, dict.fromkeys(held, version), held=held)
    packages.dpkg(tree, dict.fromkeys(modules, "6.8.0-87.88"), held=modules)
    tree.remove("/etc/apt/sources.list.d/cuda-ubuntu2404-x86_64.list")
    signer = "Canonical Ltd. Kernel Module Signing"
    driver.install_module(tree, KERNEL, directory="kernel/nvidia-580srv-open", signer=signer)
    driver.install_userland(tree)
    driver.keep_nouveau_out(tree)
    own_libraries(tree, "libnvidia-compute-580-server", DRIVER)
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.T4, gpus.HGX[:1])
    persist(tree)
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}, "default-runtime": "nvidia"})
    containers.docker_container(tree, 2400)
    containers.cdi(tree, 1)
    tree.write("/var/lib/shim-signed/mok/MOK.der", b"0\x82\x01\x00made up")
    system.enrol(tree, b"another certificate")
    return tree


#: Two Grace CPUs with their memory; and nodes that each GPU has for its own, eight a module, empty while the driver keeps the memory.
_GRACE = (
    topology.Node(0, "0-71", 0, 478),
    topology.Node(1, "72-143", 1, 479),
    *(topology.Node(number, "", (number - 2) // 8, 0) for number in range(2, 18)),
)


def _grace_distance(one: topology.Node, other: topology.Node) -> int:
    return 10 if one.id == other.id else (40 if one.package != other.package else 80) if one.cpus and other.cpus else 80


def _grace_port(place: gpus.Place) -> tuple[str, ...]:
    """Each device has a host bridge and a root port of its own."""
    domain = place.pci[:4]
    return f"pci{domain}:00", f"{domain}:00:00.0"


@claims(source="NVIDIA, IMEX Service for NVLink Networks; Coherent Driver Memory Management")
def gb200_nvl(root: Path) -> Tree:
    """A compute node of a GB200 rack: four GPUs on a fabric that is run elsewhere, IMEX between the nodes, CDMM,
    18 NUMA nodes."""
    tree = Tree(root, kernel="6.8.0-1040-nvidia-64k", driver=DRIVER, arch="aarch64")
    places = tuple(gpus.Place(f"{domain:04x}:01:00.0", domain // 16, _GRACE[domain // 16].cpus) for domain in (8, 9, 24, 25))
    ubuntu(tree, "gb200-r4-n07")
    driver_of_cuda_repository(tree)
    imex = ("nvidia-imex",)
    packages.dpkg(tree, dict.fromkeys(imex, f"{DRIVER}-1ubuntu1"), held=imex)
    tree.write("/etc/modprobe.d/nvidia-cdmm.conf", "options nvidia NVreg_CoherentGPUMemoryMode=driver\n")
    driver.load_driver(tree)
    tree.edit("/proc/driver/nvidia/params", 'CoherentGPUMemoryMode: ""', 'CoherentGPUMemoryMode: "driver"')
    topology.install(tree, _GRACE, governor="performance", distance=_grace_distance)
    gpus.install_gpus(tree, gpus.GB200, places, above=_grace_port)
    for number, domain in enumerate((0, 2, 16, 18)):
        card = gpus.Place(f"{domain:04x}:03:00.0", domain // 16, _GRACE[domain // 16].cpus)
        pcibus.nic(
            tree, pcibus.CONNECTX_7, card, above=_grace_port(card), netdev=f"ibP{domain}p3s0" if domain else "ibp3s0", rdma=f"mlx5_{number}"
        )
    rdma.stack(tree)
    persist(tree)
    tree.write("/etc/nvidia-imex/nodes_config.cfg", "".join(f"192.0.2.{number}\n" for number in range(1, 19)))
    system.unit(tree, "nvidia-imex.service", system.service("NVIDIA IMEX service", "/usr/bin/nvidia-imex -c /etc/nvidia-imex/config.cfg"))
    system.run(tree, Daemon(880, ("/usr/bin/nvidia-imex", "-c", "/etc/nvidia-imex/config.cfg"), "nvidia-imex.service"))
    tree.edit("/proc/devices", "\nBlock devices", f"{driver.IMEX_MAJOR} nvidia-caps-imex-channels\n\nBlock devices")
    tree.device("/dev/nvidia-caps-imex-channels/channel0", driver.IMEX_MAJOR, 0)
    toolkit(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"})
    containers.install_containerd(tree)
    kubelets.kubeadm(tree)
    containers.cdi(tree, len(places))
    return tree
