"""The user libraries are of another version than the kernel module: every new process fails to use a GPU.

`nvidia-smi` says "Driver/library version mismatch" and NVML error 18. The usual cause is an unattended upgrade of the
packages while the old module is in use. Containers that were started before it keep working, and new ones fail, often days
later: the packages changed then, the failure comes with the next start. Where no module is loaded, or in an image, the
libraries are held against the module that the next boot loads.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Packages
from hostagent.facts.unread import Unread

from ._module import module_version

_FINISH = "Finish the interrupted installation ('dpkg --configure -a'), then drain the host and reboot it."
_REBOOT = "Drain the host and reboot it, then hold the driver's packages."
_ALIGN = "Install module and libraries of one version, then drain the host and reboot it."


@check(
    title="The driver's libraries match the kernel module",
    severity="critical",
    since="0.1",
    remedy=_ALIGN,
    references=("nvml.h, NVML_ERROR_LIB_RM_VERSION_MISMATCH", "NVIDIA Driver Installation Guide, section Version Locking"),
)
def library_match(driver: Driver, kernel: Kernel, packages: Packages) -> Findings:
    module = module_version(driver, kernel)
    for soname in ("libnvidia-ml.so.1", "libcuda.so.1"):
        library = need(driver.library(soname))
        if not library.version:
            need(Unread("error", f"{library.path} has no version in its name"))
        if library.version == module:
            continue
        running = kernel.at(kernel.release)
        on_disk = running if isinstance(running, Unread) else running.nvidia_version
        is_pending = not isinstance(on_disk, Unread) and on_disk == library.version
        installed = () if isinstance(packages.installed, Unread) else packages.installed
        halfway = tuple(f"{one.name} is {one.state}" for one in installed if "nvidia" in one.name and one.state != "installed")
        code, remedy = ("half-installed", _FINISH) if halfway else ("reboot-pending", _REBOOT) if is_pending else ("mismatch", _ALIGN)
        stale = (
            ("/run/nvidia-persistenced/socket is gone: older containers go on, new ones fail",)
            if driver.persistenced_socket is False
            else ()
        )
        yield fail(
            f"{soname} is of version {library.version}, the kernel module of {module}",
            code=code,
            found=library.version,
            wanted=module,
            evidence=(library.path, *halfway, *stale),
            remedy=remedy,
        )
