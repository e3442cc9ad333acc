"""Systems that run inside another one, or on a board without PCI: WSL2, Jetson, a container with GPUs; each healthy, and with one named change.

Sources stand beside each: the published configuration that its files repeat.
"""

from pathlib import Path

from tests.trees import containers, driver, formats, gpus, packages, system
from tests.trees.claim import claims
from tests.trees.hosts import DRIVER
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, Tree

_XID_79 = "NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
_DOCKER = {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}

# WSL2: Microsoft, GPU support in WSL (/dev/dxg, /usr/lib/wsl/lib); NVIDIA, CUDA on WSL User Guide; NVIDIA Container Toolkit, pkg/nvcdi (mode wsl).

_WSL = "/usr/lib/wsl"
_STORE = f"{_WSL}/drivers/nv_dispi.inf_amd64_6f1d2c"
_WSL_SPEC = f"""---
cdiVersion: 0.3.0
kind: nvidia.com/gpu
devices:
  - name: all
    containerEdits:
      deviceNodes:
        - path: /dev/dxg
containerEdits:
  hooks:
    - hookName: createContainer
      path: /usr/bin/nvidia-cdi-hook
      args: [nvidia-cdi-hook, create-symlinks, --link, {_STORE}/nvidia-smi::/usr/bin/nvidia-smi]
  mounts:
    - hostPath: {_STORE}/libcuda.so.1.1
      containerPath: {_STORE}/libcuda.so.1.1
      options: [ro, nosuid, nodev, rbind, rprivate]
    - hostPath: {_WSL}/lib/libdxcore.so
      containerPath: {_WSL}/lib/libdxcore.so
      options: [ro, nosuid, nodev, rbind, rprivate]
"""


@claims("os.platform", source="NVIDIA, CUDA on WSL User Guide; Microsoft, GPU support in WSL")
def wsl2(root: Path) -> Tree:
    """Ubuntu in WSL2 with Docker: the driver is Windows's, PCI shows no GPU, and the kernel has no module of NVIDIA's."""
    tree = Tree(root, kernel="6.6.87.2-microsoft-standard-WSL2", driver="")
    system.install_os(tree, "ubuntu2404", "DESKTOP-4QK2")
    system.boot(tree, "DESKTOP-4QK2")
    system.number_processes_apart(tree)  # each distribution is in a namespace of its own (microsoft/WSL, src/linux/init)
    tree.remove("/sys/firmware")
    tree.remove("/sys/module/module")
    tree.device("/dev/dxg", 10, 125)
    gpus.function(tree, "2a5f:00:00.0", 0x1414, 0x008E, 0x030200, driver="dxgkrnl")
    for path in ("libcuda.so", "libcuda.so.1", "libcuda.so.1.1", "libnvidia-ml.so.1", "libdxcore.so"):
        tree.write(f"{_WSL}/lib/{path}", formats.shared_library())
    for path in ("libcuda.so.1.1", "libnvidia-ml.so.1"):
        tree.write(f"{_STORE}/{path}", formats.shared_library())
    tree.program(f"{_STORE}/nvidia-smi")
    tree.program(f"{_WSL}/lib/nvidia-smi")
    tree.write("/etc/ld.so.conf.d/ld.wsl.conf", f"{_WSL}/lib\n")
    tree.write(
        "/etc/ld.so.cache",
        formats.linker_cache((("libnvidia-ml.so.1", f"{_WSL}/lib/libnvidia-ml.so.1"), ("libcuda.so.1", f"{_WSL}/lib/libcuda.so.1"))),
    )
    packages.dpkg(tree, {"apt": "2.8.3", "systemd": "255.4-1ubuntu8.11", "bash": "5.2.21-2ubuntu4"})
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})
    packages.dpkg(tree, dict.fromkeys(packages.TOOLKIT, "1.19.1-1"))
    containers.install_toolkit(tree)
    containers.install_docker(tree, _DOCKER)
    tree.write("/var/run/cdi/nvidia.yaml", _WSL_SPEC, time=BOOTED_AT + 60)
    system.run(tree, Daemon(700, ("/usr/lib/systemd/systemd-timesyncd",), "systemd-timesyncd.service", started_s=8))
    return tree


@claims("gpu.xid", twin="wsl2")
def wsl2_fault(root: Path) -> Tree:
    """The log has a GPU's fault."""
    tree = wsl2(root)
    system.log_kernel(tree, _XID_79)
    return tree


# Jetson: NVIDIA Jetson Linux Developer Guide (nv-load-display-modules; JetPack 6), nvidia-l4t-core's /etc/nv_tegra_release;
# NVIDIA Container Toolkit on JetPack (mode csv).


@claims("os.platform", source="NVIDIA Jetson Linux Developer Guide; JetPack 6")
def jetson(root: Path) -> Tree:
    """A Jetson AGX Orin with JetPack 6 and Docker: its GPU is no PCI device and has a driver of its own, nvgpu."""
    tree = Tree(root, kernel="5.15.148-tegra", driver="", arch="aarch64")
    system.install_os(tree, "ubuntu2204", "orin-3")
    system.install_kernel(tree, tree.kernel, headers=False, files="Image initrd")
    system.boot(tree, "orin-3")
    tree.write(
        "/etc/nv_tegra_release",
        "# R36 (release), REVISION: 4.4, GCID: 41062509, BOARD: generic, EABI: aarch64, DATE: Mon Jun 16 16:07:13 UTC 2025\n",
    )
    gpus.function(tree, "0004:00:00.0", 0x10DE, 0x229C, 0x060400, driver="pcieport")
    system.load(tree, "nvgpu", "nvmap", "host1x")
    place = f"{tree.libraries}/nvidia"
    for path in ("libcuda.so.1.1", "libnvidia-ml.so.1"):
        tree.write(f"{place}/{path}", formats.shared_library("aarch64"))
    tree.write(
        "/etc/ld.so.cache",
        formats.linker_cache((("libcuda.so.1", f"{place}/libcuda.so.1.1"), ("libnvidia-ml.so.1", f"{place}/libnvidia-ml.so.1")), "aarch64"),
    )
    packages.dpkg(tree, {"apt": "2.4.13", "nvidia-l4t-core": "36.4.4-20250616085344", "nvidia-l4t-cuda": "36.4.4-20250616085344"})
    packages.dpkg(tree, {"containerd.io": "1.7.28-1~ubuntu.22.04~jammy", "docker-ce": "5:28.5.2-1~ubuntu.22.04~jammy"})
    packages.dpkg(tree, dict.fromkeys(packages.TOOLKIT, "1.19.1-1"))
    containers.install_toolkit(tree)
    containers.install_docker(tree, {**_DOCKER, "default-runtime": "nvidia"})
    tree.write(
        "/var/run/cdi/nvidia.yaml",
        _WSL_SPEC.replace("0.3.0", "0.5.0")
        .replace("/dev/dxg", "/dev/nvhost-gpu")
        .replace("name: all", 'name: "0"')
        .partition("containerEdits:\n  hooks")[0],
    )
    tree.device("/dev/nvhost-gpu", 506, 0)
    system.run(tree, Daemon(700, ("/usr/lib/systemd/systemd-timesyncd",), "systemd-timesyncd.service", started_s=8))
    return tree


# Incus: linuxcontainers.org, Incus, Type: gpu, and nvidia.runtime; the kernel's log by raw.lxc (lxc.mount.entry = /dev/kmsg), as kubelets
# and k3s in containers have it; Slurm, Containers Guide (Apptainer).


@claims(source="linuxcontainers.org, Incus, Type: gpu")
def incus(root: Path) -> Tree:
    """A Slurm worker in a container of Incus: two GPUs and the driver's libraries are passed in, the kernel is the host's."""
    tree = Tree(root, kernel="6.12.43+deb13-amd64", driver=DRIVER)
    name = "slurm-ct-07"
    system.install_os(tree, "ubuntu2404", name)
    system.boot(tree, name)
    tree.remove("/sys/firmware/efi/efivars")
    tree.directory("/sys/firmware/efi/efivars")
    tree.write("/run/systemd/container", "lxc")
    tree.write("/proc/1/mounts", "rpool/containers/slurm-ct-07 / zfs rw,relatime,xattr,posixacl 0 0\nnone /dev tmpfs rw,relatime 0 0\n")
    tree.link("/proc/1/ns/pid", "pid:[4026533420]")
    system.number_processes_apart(tree)
    driver.install_userland(tree)
    for path in ("/lib/firmware", "/usr/bin/nvidia-modprobe"):
        tree.remove(path)
    tree.append("/proc/1/mounts", f"/dev/sda2 /usr/lib/firmware/nvidia/{DRIVER}/gsp_ga10x.bin ext4 ro,nosuid,nodev,relatime 0 0\n")
    for file in ("gsp_ga10x.bin", "gsp_tu10x.bin"):
        tree.write(f"/usr/lib/firmware/nvidia/{DRIVER}/{file}", "firmware\n")
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.T4, gpus.HGX[:2])
    driver.persist(tree)
    packages.dpkg(
        tree, {"apt": "2.8.3", "systemd": "255.4-1ubuntu8.11", "bash": "5.2.21-2ubuntu4", "slurmd": "24.11.5-1", "apptainer": "1.4.3-1"}
    )
    for path in ("/usr/sbin/slurmd", "/usr/bin/apptainer"):
        tree.program(path)
    system.unit(tree, "slurmd.service", system.service("Slurm node daemon", "/usr/sbin/slurmd --systemd"))
    system.run(tree, Daemon(1300, ("/usr/sbin/slurmd", "--systemd"), "slurmd.service", started_s=40))
    return tree


@claims("gpu.xid", twin="incus-slurm")
def incus_xid(root: Path) -> Tree:
    """One of the GPUs fell off the bus: the log is the host's."""
    tree = incus(root)
    system.log_kernel(tree, _XID_79)
    return tree


@claims("gpu.xid", twin="incus-slurm")
def incus_without_log(root: Path) -> Tree:
    """The container does not see the kernel's log: whether a GPU had a fault is not known."""
    tree = incus(root)
    tree.remove("/dev/kmsg")
    return tree


#: Tree and profile by name.
RECIPES = {
    "wsl2": (wsl2, "default"),
    "wsl2-fault": (wsl2_fault, "default"),
    "jetson-orin": (jetson, "default"),
    "incus-slurm": (incus, "slurm"),
    "incus-slurm-xid": (incus_xid, "slurm"),
    "incus-slurm-without-log": (incus_without_log, "slurm"),
}
