"""A driver library is missing: nothing can use the GPUs, though the module may be loaded.

NVML then says "NVML Shared Library Not Found" (12), CUDA programs do not start, and the container toolkit finds no
library to mount. A file that is empty, cut short or of another architecture is no library: a mount or an installation that failed
half-way leaves such files. The kernel module and the compute libraries are separate packages, and one can be installed without the other. A
platform that mounts them into containers from its own directory (GKE, Container-Optimized OS, Talos) needs no entry in the linker's cache.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, then
from hostagent.domains.driver.owned import in_platform_directory
from hostagent.domains.packages.commands import install, reinstall
from hostagent.domains.packages.tables.names import library_package
from hostagent.facts.driver import CONTAINER_ROOT, Driver, Library
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.profile import Profile

_LDCONFIG = Step("configure", "Renew the linker's cache.", "ldconfig")


_NAME = Step("configure", "Name the directory in a file of /etc/ld.so.conf.d, and run ldconfig again.", if_back=True)


@check(
    title="The driver's libraries are installed",
    severity="critical",
    since="0.1",
    because=("gpu.present:none", "kernel.module_present", "driver.loaded", "driver.package_interrupted"),
    headline="Libraries of the driver are missing or broken",
    remedy=(Step("install", "Install the driver's compute libraries in the module's version."),),
    references=("ld.so(8)", "nvml.h, NVML_ERROR_LIBRARY_NOT_FOUND"),
    confirm=("ldconfig -p | grep -E 'libcuda|libnvidia-ml'",),
)
def library_present(
    driver: Driver, kernel: Kernel | Unread, platform: Platform, packages: Packages | Unread, os: Os | Unread, profile: Profile
) -> Findings:
    libraries = need(driver.libraries)
    for soname in ("libnvidia-ml.so.1", "libcuda.so.1"):
        library = driver.library(soname)
        faulty = tuple(f"{one.path} is {need(one.fault)}" for one in libraries if one.soname == soname and need(one.fault))
        if isinstance(library, Unread) and faulty:
            steps = _reinstall([one for one in libraries if one.soname == soname and need(one.fault)], packages, os)
            yield fail(faulty[0], code="broken", found=first_of(faulty), wanted=f"a whole {soname}", remedy=steps)
        elif isinstance(library, Unread):
            steps = _install(driver, kernel, packages, os, profile)
            yield fail(f"the host has no {soname}", code="missing", found="none", wanted=soname, remedy=steps)
        elif not library.cached and not library.path.startswith(CONTAINER_ROOT) and not in_platform_directory(platform, library.path):
            yield fail(
                f"{library.path} is not in the dynamic linker's cache",
                code="not-cached",
                found=library.path,
                wanted="in /etc/ld.so.cache",
                remedy=(_LDCONFIG, _NAME),
                headline="The dynamic linker does not find the driver's libraries",
            )


def _reinstall(broken: list[Library], packages: Packages | Unread, os: Os | Unread) -> tuple[Step, ...]:
    owners = dict.fromkeys(one.package for one in broken if not isinstance(one.package, Unread) and one.package)
    if not owners:
        return (Step("install", "Repair what puts or mounts the file there."), _LDCONFIG)
    return (Step("install", "Reinstall the package that the file belongs to.", reinstall(packages, os, owners)), _LDCONFIG)


def _install(driver: Driver, kernel: Kernel | Unread, packages: Packages | Unread, os: Os | Unread, profile: Profile) -> tuple[Step, ...]:
    """In the version of the module that is here; without one, in the profile's branch."""
    loaded = driver.loaded_version
    on_disk = loaded if isinstance(kernel, Unread) else then(kernel.at(kernel.next_release), lambda one: one.nvidia_version)
    known = next((one for one in (loaded, on_disk) if not isinstance(one, Unread)), "")
    id_ = "" if isinstance(os, Unread) or isinstance(os.id, Unread) else os.id
    name = library_package(id_, known or profile.driver.version) if known or profile.driver.version[:3].isdecimal() else ""
    text = f"Install the compute libraries of driver {known or profile.driver.version}."
    return (Step("install", text, install(packages, os, (name,), known) if name else ""),)
