"""Installed kernels: image, initramfs, and the nvidia module that modprobe loads for each."""

# A module compressed with xz, gzip or zstd is decompressed as a whole: 40 to 180 ms, some 30 MiB for 14 MiB. Of an initramfs only
# the time is read. A directory of modules that only DKMS and headers created counts as a kernel if there is no other. Without any
# image, the running kernel came from the network or the hypervisor.

import re
from collections.abc import Callable, Mapping
from typing import Any

from hostagent.core.answers import MIB
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, then
from hostagent.domains.packages.read_packages import owners
from hostagent.domains.system.read_boot_menu import bls_entries
from hostagent.domains.system.read_modprobe import module_behind, read_modprobe
from hostagent.facts.kernel import InstalledKernel
from hostagent.facts.packages import Packages
from hostagent.host.source import Source
from hostagent.host.values import modified_at, names_in

#: Small modules of distribution kernels; any of them shows the kernel's own vermagic.
_IN_TREE = ("veth", "dummy", "br_netfilter", "nf_tables", "xfs", "tun", "loop", "overlay", "nouveau", "drm")
_MODULES = Keep(
    "matches",
    (
        r"^(?:[^:\n]*/)?nvidia[-\w]*\.ko(?:\.\w+)?:",
        rf"^(?:[^:\n]*/)?(?:{'|'.join(_IN_TREE)})\.ko(?:\.\w+)?:",
    ),
)
_MODINFO = Keep("keys", ("license", "signer", "srcversion", "vermagic", "version"))
_INITRAMFS = ("/boot/initrd.img-{0}", "/boot/initramfs-{0}.img", "/boot/initrd-{0}", "/boot/initramfs-{0}", "/lib/modules/{0}/initrd")
_IMAGES = (
    "/boot/vmlinuz-{0}",
    "/boot/vmlinux-{0}",
    "/boot/Image-{0}",
    "/boot/kernel-{0}",
    "/lib/modules/{0}/vmlinuz",
    "/lib/modules/{0}/Image",
)
#: Directories of unified kernel images (Boot Loader Specification, type 2).
_UNIFIED = ("/boot/efi/EFI/Linux", "/efi/EFI/Linux", "/boot/EFI/Linux")


def read_installed(
    source: Source, known: Callable[[type], Any], root: str, releases: tuple[str, ...], opened: "tuple[str | Unread, ...]"
) -> tuple[InstalledKernel, ...]:
    """The installed kernels. Module files are read for the kernels in `opened`; for all, if one of `opened` is unknown."""
    name = then(read_modprobe(source), lambda files: module_behind(files, "nvidia"))
    is_open = any(isinstance(one, Unread) for one in opened)
    return tuple(_kernel(source, known, f"{root}/{release}", name, is_opened=is_open or release in opened) for release in releases)


def _kernel(source: Source, known: Callable[[type], Any], directory: str, name: "str | Unread", *, is_opened: bool) -> InstalledKernel:
    release = directory.rpartition("/")[2]
    index = source.text(f"{directory}/modules.dep", 16 * MIB, keep=_MODULES, absent="")  # modprobe finds nothing without it
    path, info = _nvidia(source, directory, index, name, is_opened=is_opened)
    initramfs, initramfs_mtime = _initramfs(source, release)
    vermagic = _key(info, "vermagic", path)
    return InstalledKernel(
        release=release,
        image=_image(source, release),
        vermagic=_vermagic(source, directory, index) if is_opened else Unread("not-recorded", f"kernel {release} is not looked into"),
        nvidia_path=path,
        nvidia_named=then(index, parse_own_names),
        nvidia_version=_key(info, "version", path),
        nvidia_license=_key(info, "license", path),
        nvidia_vermagic=vermagic,
        nvidia_srcversion=_key(info, "srcversion", path),
        nvidia_owner=_owner(source, known, release, path, vermagic),
        nvidia_signer=then(info, lambda keys: keys.get("signer", "")),
        nouveau=then(index, lambda text: bool(parse_modules_dep(text, "nouveau"))),
        indexed_at=modified_at(source, f"{directory}/modules.dep"),
        headers=source.exists(f"{directory}/build/Makefile"),
        initramfs=initramfs,
        initramfs_mtime=initramfs_mtime,
    )


_Info = Mapping[str, str]


def _nvidia(
    source: Source, directory: str, index: "str | Unread", name: "str | Unread", *, is_opened: bool
) -> "tuple[str | Unread, _Info | Unread]":
    """The module's path and its modinfo. A name in modules.dep without a file is no module."""
    path = then(name, lambda module: then(index, lambda text: parse_modules_dep(text, module) if module else ""))
    none = Unread("absent", f"kernel {directory.rpartition('/')[2]} has no nvidia module")
    if isinstance(path, Unread) or not path:
        return path, none if path == "" else path
    path = path if path.startswith("/") else f"{directory}/{path}"
    if not is_opened:
        return path, Unread("not-recorded", f"kernel {directory.rpartition('/')[2]} is neither the running nor the next one")
    info = source.modinfo(path, keep=_MODINFO)
    return ("", none) if isinstance(info, Unread) and info.why == "absent" else (path, info)


def _key(info: "_Info | Unread", key: str, path: "str | Unread") -> "str | Unread":
    missing = Unread("error", f"{path if isinstance(path, str) else 'nvidia.ko'}: .modinfo has no {key}")
    return then(info, lambda keys: keys.get(key, missing))


def _vermagic(source: Source, directory: str, index: "str | Unread") -> "str | Unread":
    """The vermagic of one of the kernel's own modules, which lie below kernel/; modules elsewhere are third-party."""
    if isinstance(index, Unread):
        return index
    paths = (parse_modules_dep(index, name) for name in _IN_TREE)
    path = next((one for one in paths if one.removeprefix(f"{directory}/").startswith("kernel/")), "")
    if not path:
        return Unread("absent", f"{directory}/modules.dep names none of the kernel's own modules that are known")
    path = path if path.startswith("/") else f"{directory}/{path}"
    return _key(source.modinfo(path, keep=_MODINFO), "vermagic", path)


def _owner(source: Source, known: Callable[[type], Any], release: str, path: "str | Unread", vermagic: "str | Unread") -> "str | Unread":
    """The package that owns the module. Looked up only if it was built for another release: kernel packages have long file lists."""
    if isinstance(path, Unread) or isinstance(vermagic, Unread) or vermagic.partition(" ")[0] == release:
        return Unread("absent", f"the nvidia module of kernel {release} was built for it, or there is none")
    real = source.realpath(path)
    return real if isinstance(real, Unread) else owners(source, known(Packages), (real,))[real]


def parse_modules_dep(text: str, module: str) -> str:
    r"""
    The path of a module in modules.dep(5), "" for none. "-" and "_" are equal in a module's name.

    >>> parse_modules_dep("updates/dkms/nvidia-uvm.ko.zst: updates/dkms/nvidia.ko.zst\nupdates/dkms/nvidia.ko.zst:\n", "nvidia")
    'updates/dkms/nvidia.ko.zst'
    """
    name = re.sub(r"[-_]", "[-_]", re.escape(module).replace(r"\-", "-"))
    match = re.search(rf"^((?:[^:\n]*/)?{name}\.ko(?:\.\w+)?):", text, re.MULTILINE)
    return match[1] if match else ""


def parse_own_names(text: str) -> tuple[str, ...]:
    r"""
    The nvidia modules of Debian's packages in modules.dep(5): there may be several, and Debian's alternatives select one.

    >>> parse_own_names("updates/dkms/nvidia-current.ko:\nupdates/dkms/nvidia-current-uvm.ko: updates/dkms/nvidia-current.ko\n")
    ('nvidia-current',)
    """
    found = re.findall(r"^(?:[^:\n]*/)?(nvidia-(?:current|tesla|legacy)[-\w]*)\.ko(?:\.\w+)?:", text, re.MULTILINE)
    return tuple(name for name in found if not name.endswith(("-uvm", "-modeset", "-drm", "-peermem")))


def _image(source: Source, release: str) -> "str | Unread":
    for pattern in _IMAGES:
        path = pattern.format(release)
        found = source.exists(path)
        if found is not False:
            return found if isinstance(found, Unread) else path
    entries = bls_entries(source)
    if isinstance(entries, Unread):
        return entries
    for entry in entries:
        if release in entry.kernel.split("/") or entry.kernel.endswith(f"-{release}"):
            return entry.kernel
    for directory in _UNIFIED:
        names = names_in(source, directory)
        if isinstance(names, Unread):
            return names
        if found_name := next((name for name in names if name.endswith(".efi") and release in name), ""):
            return f"{directory}/{found_name}"
    return ""


def _initramfs(source: Source, release: str) -> "tuple[str | Unread, float | Unread]":
    for pattern in _INITRAMFS:
        path = pattern.format(release)
        found = source.stat(path)
        if not isinstance(found, Unread):
            return path, found.mtime
        if found.why != "absent":
            return found, found
    return "", Unread("absent", f"kernel {release} has no initramfs in /boot")
