"""The NVIDIA driver of a host: modules, firmware, libraries, the loaded module and its nodes."""

import hashlib
import lzma

from tests import stub_nvml
from tests.trees import formats
from tests.trees.system import load, log_kernel, vermagic
from tests.trees.tree import INSTALLED_AT, Tree

_MODULES = ("nvidia", "nvidia-uvm", "nvidia-modeset", "nvidia-drm", "nvidia-peermem")
_LOADED = ("nvidia_uvm", "nvidia_drm", "nvidia_modeset", "nvidia")
_FIRMWARE = ("gsp_ga10x.bin", "gsp_tu10x.bin")
_COMPILER = "GCC version:  gcc version 13.3.0 (Ubuntu 13.3.0-6ubuntu2~24.04)"
UVM_MAJOR, SWITCH_MAJOR, CAPS_MAJOR, IMEX_MAJOR = 511, 510, 234, 509


def modinfo(tree: Tree, release: str, version: str) -> dict[str, str]:
    """The keys of nvidia.ko's .modinfo that identify a build."""
    return {
        "license": "Dual MIT/GPL" if tree.flavour == "open" else "NVIDIA",
        "version": version,
        "srcversion": srcversion(version, tree.flavour),
        "name": "nvidia",
        "vermagic": vermagic(release),
    }


def srcversion(version: str, flavour: str) -> str:
    """A hash over a module's sources, as long as the kernel's is."""
    return hashlib.sha256(f"{flavour} {version}".encode()).hexdigest()[:23].upper()


def install_module(
    tree: Tree,
    release: str,
    *,
    version: str = "",
    directory: str = "updates/dkms",
    suffix: str = ".ko.zst",
    signer: str = "",
    time: float = INSTALLED_AT,
) -> None:
    """The driver's modules for one kernel, and depmod's index of them."""
    root = f"/lib/modules/{release}"
    pack = {".ko": bytes, ".ko.xz": lzma.compress, ".ko.zst": formats.zstd}[suffix]
    data = pack(formats.kernel_module(modinfo(tree, release, version or tree.driver), signer=signer))
    for name in _MODULES:
        tree.write(f"{root}/{directory}/{name}{suffix}", data, time=time)
        needs = "" if name == "nvidia" else f" {directory}/nvidia{suffix}"
        tree.append(f"{root}/modules.dep", f"{directory}/{name}{suffix}:{needs}\n", time=time)


def install_dkms(tree: Tree, *releases: str, version: str = "") -> None:
    """DKMS's tree after successful builds of the CUDA repository's source package."""
    version = version or tree.driver
    root = f"/var/lib/dkms/nvidia/{version}"
    tree.link(f"{root}/source", f"/usr/src/nvidia-{version}")
    tree.write(f"/usr/src/nvidia-{version}/dkms.conf", f'PACKAGE_NAME="nvidia"\nPACKAGE_VERSION="{version}"\n')
    for release in releases:
        for name in _MODULES:
            tree.write(f"{root}/{release}/{tree.arch}/module/{name}.ko.zst")
        tree.write(f"{root}/{release}/{tree.arch}/log/make.log", f"DKMS make.log for nvidia-{version} for kernel {release} ({tree.arch})\n")


def install_userland(tree: Tree, version: str = "", *, directory: str = "", cached: bool = True, time: float = INSTALLED_AT) -> None:
    """Libraries (NVML's is the stub, so that it answers), firmware, tools, and the linker's cache."""
    version, directory = version or tree.driver, directory or tree.libraries
    tree.write(f"{directory}/libnvidia-ml.so.{version}", stub_nvml.build().read_bytes(), time=time)
    tree.write(f"{directory}/libcuda.so.{version}", formats.shared_library(tree.arch), time=time)
    for soname in ("libcuda.so.1", "libnvidia-ml.so.1"):
        tree.link(f"{directory}/{soname}", f"{soname.removesuffix('.1')}.{version}")
    for name in _FIRMWARE:
        tree.write(f"/lib/firmware/nvidia/{version}/{name}", "firmware\n", time=time)
    for name in ("nvidia-smi", "nvidia-persistenced", "nvidia-modprobe"):
        tree.program(f"/usr/bin/{name}")
    tree.at("/usr/bin/nvidia-modprobe").chmod(0o4755)
    if cached:
        cache(tree, directory)


def cache(tree: Tree, *directories: str) -> None:
    """ldconfig: what it finds in `directories`, by the paths that it writes where /lib is a link."""
    found = [
        (soname, f"{directory.removeprefix('/usr')}/{soname}")
        for soname in ("libnvidia-ml.so.1", "libcuda.so.1")
        for directory in directories
    ]
    tree.write("/etc/ld.so.cache", formats.linker_cache(tuple(found), tree.arch))


def remove_userland(tree: Tree, version: str) -> None:
    """What a package upgrade takes away of the old version."""
    for name in ("libnvidia-ml.so", "libcuda.so"):
        tree.remove(f"{tree.libraries}/{name}.{version}")
    tree.remove(f"/lib/firmware/nvidia/{version}")


def keep_nouveau_out(tree: Tree, path: str = "/usr/lib/modprobe.d/nvidia-blacklists-nouveau.conf") -> None:
    tree.write(
        path,
        "# generated with the driver's packages\nblacklist nouveau\nalias nouveau off\noptions nouveau modeset=0\n",
        time=INSTALLED_AT - 600,
    )


def load_driver(tree: Tree, *, mode: int = 0o666, gid: int = 0) -> None:
    """The module is loaded at `tree.driver`; its control nodes exist. GPUs are `tests.trees.gpus`."""
    load(tree, *_LOADED)
    root = "/sys/module/nvidia"
    tree.write(f"{root}/version", f"{tree.driver}\n")
    tree.write(f"{root}/srcversion", f"{srcversion(tree.driver, tree.flavour)}\n")
    tree.write(f"{root}/refcnt", "57\n")
    platform = {"open": f"Open Kernel Module for {tree.arch}", "proprietary": f"{tree.arch} Kernel Module"}[tree.flavour]
    built = "Release Build  (dvs-builder@example)  Mon Aug 10 09:00:00 UTC 2026"
    tree.write("/proc/driver/nvidia/version", f"NVRM version: NVIDIA UNIX {platform}  {tree.driver}  {built}\n{_COMPILER}\n")
    params = {"ResmanDebugLevel": 4294967295, "ModifyDeviceFiles": 1, "DeviceFileUID": 0, "DeviceFileGID": gid, "DeviceFileMode": mode}
    params |= {"EnableGpuFirmware": 18, "EnableStreamMemOPs": 0, "DmaRemapPeerMmio": 1, "ImexChannelCount": 2048, "CreateImexChannel0": 0}
    tree.write("/proc/driver/nvidia/params", "".join(f"{key}: {value}\n" for key, value in params.items()) + 'CoherentGPUMemoryMode: ""\n')
    tree.write("/proc/driver/nvidia/registry", 'Binary: ""\n')
    tree.directory("/proc/driver/nvidia/gpus")
    tree.directory("/sys/bus/pci/drivers/nvidia")
    rows = ((195, "nvidia"), (195, "nvidia-modeset"), (195, "nvidiactl"), (CAPS_MAJOR, "nvidia-caps"), (UVM_MAJOR, "nvidia-uvm"))
    lines = "".join(f"{major:3d} {name}\n" for major, name in rows)
    tree.edit("/proc/devices", "\nBlock devices", f"{lines}\nBlock devices")
    node(tree, "nvidiactl", 195, 255, mode)
    node(tree, "nvidia-modeset", 195, 254, mode)
    node(tree, "nvidia-uvm", UVM_MAJOR, 0, mode)
    node(tree, "nvidia-uvm-tools", UVM_MAJOR, 1, mode)
    log_kernel(tree, f"nvidia-nvlink: Nvlink Core is being initialized, major device number {SWITCH_MAJOR}")
    log_kernel(tree, f"NVRM: loading NVIDIA UNIX {platform}  {tree.driver}  {built}")


def unload(tree: Tree) -> None:
    """As after a boot at which nothing loaded the module: no GPU has a driver, and no node is there."""
    for name in _LOADED:
        tree.edit("/proc/modules", f"{name} 16384 0 - Live 0x0000000000000000\n", "")
        tree.remove(f"/sys/module/{name}")
    for path in ("/proc/driver/nvidia", "/sys/bus/pci/drivers/nvidia"):
        tree.remove(path)
    tree.write("/proc/devices", "Character devices:\n  1 mem\n  4 tty\n  5 /dev/tty\n\nBlock devices:\n259 blkext\n")
    for entry in tree.at("/dev").iterdir():
        if entry.name.startswith("nvidia"):
            entry.unlink()
    for device in tree.at("/sys/bus/pci/devices").iterdir():
        link = tree.at(f"/sys/bus/pci/devices/{device.name}/driver")
        if link.is_symlink() and link.readlink().name == "nvidia":
            link.unlink()


def node(tree: Tree, name: str, major: int, minor: int, mode: int = 0o666) -> None:
    """A device and the link that udev, or `nvidia-ctk system create-dev-char-symlinks`, makes to it."""
    tree.device(f"/dev/{name}", major, minor, mode)
    tree.link(f"/dev/char/{major}:{minor}", f"../{name}")


def persist(tree: Tree) -> None:
    """The persistence daemon's socket; its process is a `Daemon`."""
    tree.socket("/run/nvidia-persistenced/socket")
