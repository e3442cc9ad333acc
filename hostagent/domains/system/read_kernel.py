"""Kernels: the running and the installed ones, the nvidia module of each, and settings that block modules."""

import re
from collections.abc import Callable
from typing import Any

from hostagent.core.answers import MIB
from hostagent.core.retention import WHOLE, Keep
from hostagent.core.unread import Unread, then
from hostagent.domains.system.read_boot_entry import image_release, newest_first, next_release
from hostagent.domains.system.read_installed_kernels import read_installed
from hostagent.domains.system.read_kernel_log import read_kernel_log
from hostagent.domains.system.read_modprobe import MODULE_BLACKLISTS, blacklists_nouveau, cmdline_blacklists_nouveau, read_modprobe
from hostagent.facts.kernel import Kernel
from hostagent.host.source import Source
from hostagent.host.values import modified_at, names_in

_ROOTS = ("/lib/modules", "/usr/lib/modules")
#: Absent from the directory of a removed kernel, in which DKMS may have left a module.
_OF_A_KERNEL = frozenset({"kernel", "vmlinuz", "modules.builtin", "modules.order"})
_SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
_NAMES = Keep("matches", (r"^\S+",))


def read_kernel(source: Source, known: Callable[[type], Any]) -> Kernel:
    """`Kernel` of this host, or of the image's target kernel."""
    root, releases = _releases(source)
    images = _images(source)
    following = next_release(source, releases, images)
    host = source.host()
    named = then(host, lambda answer: answer.get("release"))
    release = following if named is None else named
    cmdline = source.text("/proc/cmdline", keep=Keep("words", MODULE_BLACKLISTS))
    blacklisted, blacklist_mtime = _blacklist(source, cmdline)
    log = read_kernel_log(source)
    return Kernel(
        release=then(release, str),
        installed=then(releases, lambda names: read_installed(source, known, root, names, (release, following))),
        next_release=following,
        images=images,
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
            if all(
                one is False for one in kernels.values()
            ):  # an image that got headers and DKMS and no kernel: the module lies there all the same
                kernels = {name: source.exists(f"{root}/{name}/modules.dep") for name in names}
            doubt = next((one for one in kernels.values() if isinstance(one, Unread)), None)
            found = [name for name, is_kernel in kernels.items() if is_kernel is True]
            return root, doubt if doubt is not None else tuple(reversed(newest_first(found)))
        problem = names if problem is None or names.why != "absent" else problem
    # Without any, the host's modules live elsewhere, or this process cannot see them.
    return _ROOTS[0], () if problem is None or problem.why == "absent" else problem


def _is_kernel(source: Source, directory: str) -> "bool | Unread":
    return then(source.listdir(directory, absent=()), lambda names: bool(_OF_A_KERNEL & set(names)))


def _images(source: Source) -> "tuple[str, ...] | Unread":
    names = names_in(source, "/boot")
    return then(names, lambda found: tuple(sorted(filter(None, map(image_release, found)))))


def read_boot_time(source: Source) -> "float | Unread":
    return then(source.text("/proc/stat", keep=Keep("settings", ("btime",))), parse_boot_time)


def parse_boot_time(text: str) -> "float | Unread":
    r"""
    The boot time in seconds since the epoch, from /proc/stat.

    >>> parse_boot_time("cpu  9 0 3\nbtime 1763640000\nprocesses 90\n")
    1763640000.0
    """
    match = re.search(r"^btime (\d{1,12})$", text, re.MULTILINE)
    return float(match[1]) if match else Unread("error", "/proc/stat has no line btime")


def _loaded_modules(source: Source) -> "tuple[str, ...] | Unread":
    """Names in /proc/modules: /sys/module also lists built-in modules."""
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
    """Whether the kernel rejects modules not signed by a known key: by its parameter, or by lockdown."""
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
