"""The user libraries and the kernel module have different versions: every new process fails to use a GPU.

`nvidia-smi` says "Driver/library version mismatch" and NVML error 18. The usual cause is an unattended upgrade of the
packages while the old module is in use. Containers that were started before it keep working, and new ones fail, often days
later: the packages changed then, the failure comes with the next start. Where no module is loaded, or in an image, the
libraries are compared with the module that the next boot loads. CUDA's forward compatibility package may be newer than the module and
works so on data centre GPUs alone; an older one works nowhere.
"""

from hostagent.check import Finding, Findings, Step, Unread, check, fail, need, warn
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.facts.driver import Driver, Library
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages
from hostagent.facts.version import compare_upstream

from ._module import module_version

_FINISH = (Step("install", "Finish the interrupted installation.", command="dpkg --configure -a"), REBOOT)
#: A job that needs the directory names it in LD_LIBRARY_PATH.
_COMPAT = (
    Step("configure", "Take the compat directory out of /etc/ld.so.conf.d.", command="grep -rl compat /etc/ld.so.conf.d"),
    Step("configure", "Renew the linker's cache.", command="ldconfig"),
)
_ALIGN = (Step("install", "Install the kernel module and the libraries in one version."), REBOOT)


@check(
    title="The driver's libraries match the kernel module",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    headline="Driver libraries on disk do not match the loaded module",
    remedy=_ALIGN,
    references=("nvml.h, NVML_ERROR_LIB_RM_VERSION_MISMATCH", "NVIDIA Driver Installation Guide, section Version Locking"),
    confirm=(
        "nvidia-smi  # 'Driver/library version mismatch'",
        "cat /sys/module/nvidia/version  # the loaded driver",
        "ls -l /usr/lib*/libnvidia-ml.so.* /usr/lib/*/libnvidia-ml.so.*",
    ),
)
def library_match(driver: Driver, kernel: Kernel, packages: Packages) -> Findings:
    module = module_version(driver, kernel)
    others: dict[str, list[Library]] = {}
    for soname in ("libnvidia-ml.so.1", "libcuda.so.1"):
        library = need(driver.library(soname))
        need(library.fault)  # what may be no library matches nothing
        if not library.version:
            need(Unread("error", f"{library.path} has no version in its name"))
        if library.version == module:
            continue
        if "/compat/" in library.path:
            yield _compat(library.path, library.version, module)
        else:
            others.setdefault(library.version, []).append(library)
    for version, libraries in others.items():
        yield _mismatch(version, libraries, driver, kernel, packages)


def _mismatch(version: str, libraries: list[Library], driver: Driver, kernel: Kernel, packages: Packages) -> Finding:
    module, loaded = module_version(driver, kernel), "loaded " if driver.loaded is True else ""
    reboot = (Step("reboot", f"Reboot the node: driver {version} is fully installed."),)
    installed = () if isinstance(packages.installed, Unread) else packages.installed
    halfway = tuple(f"{one.name} is {one.state}" for one in installed if "nvidia" in one.name and one.state != "installed")
    is_pending = version in _versions_on_disk(kernel)
    code, remedy = ("half-installed", _FINISH) if halfway else ("reboot-pending", reboot) if is_pending else ("mismatch", _ALIGN)
    gone = "/run/nvidia-persistenced/socket is gone: running containers go on, new ones fail"
    stale = (gone,) if driver.persistenced_socket is False else ()
    return fail(
        f"{', '.join(one.soname.removesuffix('.so.1') for one in libraries)}: {version} on disk, {loaded}module {module}",
        code=code,
        found=version,
        wanted=module,
        evidence=(*(one.path for one in libraries), *halfway, *stale),
        headline=f"Driver libraries on disk are {version}, the {loaded}kernel module is {module}",
        remedy=remedy,
    )


def _compat(path: str, version: str, module: str) -> Finding:
    """The linker gives every program CUDA's forward compatibility library."""
    report = warn if compare_upstream(version, module) > 0 else fail
    headline = "The linker finds CUDA's compatibility library before the driver's own"
    message = f"the linker finds CUDA's compatibility library {version} first, but the kernel module is {module}"
    return report(message, code="cuda-compat", found=version, wanted=module, evidence=(path,), remedy=_COMPAT, headline=headline)


def _versions_on_disk(kernel: Kernel) -> "set[str]":
    """Of the running kernel's module; where an upgrade took that away (Arch keeps no old kernel), of the other kernels'."""
    running = kernel.at(kernel.release)
    own = running if isinstance(running, Unread) else running.nvidia_version
    if not isinstance(own, Unread):
        return {own}
    others = () if isinstance(kernel.installed, Unread) else kernel.installed
    return {one.nvidia_version for one in others if not isinstance(one.nvidia_version, Unread)}
