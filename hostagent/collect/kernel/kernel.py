"""The kernel: the running and the installed ones, the nvidia module of each, and what keeps modules out."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from hostagent.collect.kernel.bootentry import newest_first, next_release
from hostagent.collect.kernel.log import read_kernel_log
from hostagent.collect.kernel.modprobe import MODULE_BLACKLISTS, blacklists_nouveau, cmdline_blacklists_nouveau, read_modprobe
from hostagent.collect.values import modified_at
from hostagent.facts.kernel import InstalledKernel, Kernel
from hostagent.facts.unread import Unread, then
from hostagent.source import Source
from hostagent.source.base import MIB
from hostagent.source.keep import WHOLE, Keep

_ROOTS = ("/lib/modules", "/usr/lib/modules")
#: What a removed kernel's directory has no more, though DKMS may have left a module in it.
_OF_A_KERNEL = frozenset({"kernel", "vmlinuz", "modules.builtin", "modules.order"})
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_MODULES, _MODINFO = Keep("modules.dep", ("nvidia", "nouveau")), Keep("keys", ("license", "signer", "srcversion", "vermagic", "version"))
_NAMES = Keep("matches", (r"^\S+",))
_INITRAMFS = ("/boot/initrd.img-{0}", "/boot/initramfs-{0}.img", "/boot/initrd-{0}", "/boot/initramfs-{0}", "/lib/modules/{0}/initrd")


def read_kernel(source: Source, known: Callable[[type], Any]) -> Kernel:
    """`Kernel` of this host, or of the image's target kernel."""
    root, releases = _releases(source)
    following = next_release(source, releases)
    host = source.host()
    named = then(host, lambda said: said.get("release"))
    release = following if named is None else named
    cmdline = source.text("/proc/cmdline", keep=Keep("words", MODULE_BLACKLISTS))
    blacklisted, blacklist_mtime = _blacklist(source, cmdline)
    log = read_kernel_log(source)
    return Kernel(
        release=then(release, str),
        installed=_installed(source, root, releases, (release, following)),
        next_release=following,
        booted_at=read_boot_time(source),
        loaded_modules=_loaded_modules(source),
        secure_boot=_secure_boot(source),
        module_signatures_enforced=_enforced(source),
        nouveau_blacklisted=blacklisted,
        nouveau_blacklist_mtime=blacklist_mtime,
        log=then(log, lambda one: one.lines),
    )


def _releases(source: Source) -> "tuple[str, tuple[str, ...] | Unread]":
    """The directory of modules, and the kernels in it, oldest first."""
    problem: Unread | None = None
    for root in _ROOTS:
        names = source.listdir(root)
        if not isinstance(names, Unread):
            kernels = {name: _is_kernel(source, f"{root}/{name}") for name in names}
            doubt = next((one for one in kernels.values() if isinstance(one, Unread)), None)
            return root, doubt if doubt is not None else tuple(
                reversed(newest_first(name for name, is_kernel in kernels.items() if is_kernel))
            )
        problem = names if problem is None or names.why != "absent" else problem
    # A host without any is one whose modules live elsewhere, or are not shown to this process.
    return _ROOTS[0], () if problem is None or problem.why == "absent" else problem


def _is_kernel(source: Source, directory: str) -> "bool | Unread":
    return then(source.listdir(directory, absent=()), lambda names: bool(_OF_A_KERNEL & set(names)))


def _installed(
    source: Source, root: str, releases: "tuple[str, ...] | Unread", opened: "tuple[str | Unread, ...]"
) -> "tuple[InstalledKernel, ...] | Unread":
    if isinstance(releases, Unread):
        return releases
    wanted = {one for one in opened if not isinstance(one, Unread)}
    return tuple(_kernel(source, root, release, release in wanted) for release in releases)


def _kernel(source: Source, root: str, release: str, is_opened: bool) -> InstalledKernel:
    directory = f"{root}/{release}"
    index = source.text(f"{directory}/modules.dep", 16 * MIB, keep=_MODULES, absent="")  # modprobe finds nothing without it
    path = then(index, lambda text: parse_modules_dep(text, "nvidia"))
    if isinstance(path, str) and path and not path.startswith("/"):
        path = f"{directory}/{path}"
    if isinstance(path, Unread):
        info: Mapping[str, str] | Unread = path
    elif not path:
        info = Unread("absent", f"kernel {release} has no nvidia module")
    elif not is_opened:
        info = Unread("not-recorded", f"kernel {release} is neither the running nor the next one")
    else:
        info = _existing(path, source.modinfo(path, keep=_MODINFO))
    initramfs, initramfs_mtime = _initramfs(source, release)
    return InstalledKernel(
        release=release,
        nvidia_path=path,
        nvidia_version=_key(info, "version", path),
        nvidia_license=_key(info, "license", path),
        nvidia_vermagic=_key(info, "vermagic", path),
        nvidia_srcversion=_key(info, "srcversion", path),
        nvidia_signer=then(info, lambda keys: keys.get("signer", "")),
        nouveau=then(index, lambda text: bool(parse_modules_dep(text, "nouveau"))),
        indexed_at=modified_at(source, f"{directory}/modules.dep"),
        headers=source.exists(f"{directory}/build/Makefile"),
        initramfs=initramfs,
        initramfs_mtime=initramfs_mtime,
    )


def _existing(path: str, info: "Mapping[str, str] | Unread") -> "Mapping[str, str] | Unread":
    """A file that modules.dep names and that is not there is a fault, not a host without the module."""
    if isinstance(info, Unread) and info.why == "absent":
        return Unread("error", f"modules.dep names {path}, which does not exist")
    return info


def _key(info: "Mapping[str, str] | Unread", key: str, path: "str | Unread") -> "str | Unread":
    missing = Unread("error", f"{path if isinstance(path, str) else 'nvidia.ko'}: .modinfo has no {key}")
    return then(info, lambda keys: keys.get(key, missing))


def parse_modules_dep(text: str, module: str) -> str:
    r"""
    Where modules.dep(5) has a module, "" when nowhere.

    >>> parse_modules_dep("updates/dkms/nvidia-uvm.ko.zst: updates/dkms/nvidia.ko.zst\nupdates/dkms/nvidia.ko.zst:\n", "nvidia")
    'updates/dkms/nvidia.ko.zst'
    """
    match = re.search(rf"^((?:[^:\n]*/)?{re.escape(module)}\.ko(?:\.\w+)?):", text, re.MULTILINE)
    return match[1] if match else ""


def _initramfs(source: Source, release: str) -> "tuple[str | Unread, float | Unread]":
    for pattern in _INITRAMFS:
        path = pattern.format(release)
        found = source.stat(path)
        if not isinstance(found, Unread):
            return path, found.mtime
        if found.why != "absent":
            return found, found
    return "", Unread("absent", f"kernel {release} has no initramfs in /boot")


def read_boot_time(source: Source) -> "float | Unread":
    return then(source.text("/proc/stat", keep=Keep("settings", ("btime",))), parse_boot_time)


def parse_boot_time(text: str) -> "float | Unread":
    r"""
    When the kernel was started, in seconds since the epoch, by /proc/stat.

    >>> parse_boot_time("cpu  9 0 3\nbtime 1763640000\nprocesses 90\n")
    1763640000.0
    """
    match = re.search(r"^btime (\d{1,12})$", text, re.MULTILINE)
    return float(match[1]) if match else Unread("error", "/proc/stat has no line btime")


def _loaded_modules(source: Source) -> "tuple[str, ...] | Unread":
    """Names in /proc/modules: /sys/module also lists what is built in."""
    text = source.text("/proc/modules", 4 * MIB, keep=_NAMES)
    return then(text, lambda lines: tuple(sorted(line.split()[0] for line in lines.splitlines() if line.split())))


def _secure_boot(source: Source) -> "bool | Unread":
    data = source.read(_SECURE_BOOT, keep=WHOLE)
    if isinstance(data, bytes):
        return data[-1] == 1 if len(data) == 5 else Unread("error", f"the variable SecureBoot has {len(data)} bytes, wanted 5")
    if data.why != "absent":
        return data
    efi = source.listdir("/sys/firmware/efi")
    if isinstance(efi, Unread):
        return False if efi.why == "absent" else efi  # booted by a BIOS
    variables = source.listdir("/sys/firmware/efi/efivars")
    if isinstance(variables, Unread) or not variables:
        return Unread("error", "/sys/firmware/efi/efivars is not mounted")
    return False


def _enforced(source: Source) -> "bool | Unread":
    """Whether the kernel refuses modules that no known key signed: by its parameter, or by lockdown."""
    parameter = source.text("/sys/module/module/parameters/sig_enforce", keep=WHOLE)
    if isinstance(parameter, str) and parameter.strip() == "Y":
        return True
    lockdown = source.text("/sys/kernel/security/lockdown", keep=WHOLE)
    if isinstance(lockdown, str):
        match = re.search(r"\[(\w+)\]", lockdown)
        return match[1] != "none" if match else Unread("error", f"/sys/kernel/security/lockdown is {lockdown.strip()[:60]!r}")
    unread = next((one for one in (lockdown, parameter) if isinstance(one, Unread) and one.why != "absent"), None)
    return False if unread is None else unread


def _blacklist(source: Source, cmdline: "str | Unread") -> "tuple[bool | Unread, float | Unread]":
    files = read_modprobe(source)
    if isinstance(files, Unread):
        return files, files
    mtimes: list[float] = []
    for file in files:
        if blacklists_nouveau(file.text):
            mtime = modified_at(source, file.path)
            if isinstance(mtime, Unread):
                return True, mtime
            mtimes.append(mtime)
    if mtimes:
        return True, max(mtimes)
    absent = Unread("absent", "no modprobe.d file blacklists nouveau")
    if isinstance(cmdline, Unread):
        return (False if cmdline.why == "not-running" else cmdline), absent
    return cmdline_blacklists_nouveau(cmdline), absent
