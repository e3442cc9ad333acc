"""A driver library is missing: nothing can use the GPUs, though the module may be loaded.

NVML then says "NVML Shared Library Not Found" (12), CUDA programs do not start, and the container toolkit finds no
library to mount. A file that is empty, cut short or of another architecture is no library: a mount or an installation that failed
half-way leaves such files. The kernel module and the compute libraries are separate packages, and one can be installed without the other. A
platform that mounts them into containers from its own directory (GKE, Container-Optimized OS, Talos) needs no entry in the linker's cache.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.derived.owned import lies_in_its_place
from hostagent.facts.driver import CONTAINER_ROOT, Driver
from hostagent.facts.platform import Platform
from hostagent.facts.unread import Unread

_REINSTALL = "Reinstall the package that the file belongs to, or repair what mounts it, then run 'ldconfig'."


@check(
    title="The driver's libraries are installed",
    severity="critical",
    since="0.1",
    because=("kernel.module_present", "driver.loaded", "driver.package_interrupted"),
    headline="Libraries of the driver are not installed",
    remedy=(
        Step(
            "install",
            "Install the driver's compute libraries in the module's version (Ubuntu: libnvidia-compute-<branch>; RHEL, Debian: "
            "nvidia-driver-cuda), then run 'ldconfig'.",
        ),
    ),
    references=("ld.so(8)", "nvml.h, NVML_ERROR_LIBRARY_NOT_FOUND"),
    confirm=("ldconfig -p | grep -E 'libcuda|libnvidia-ml'",),
)
def library_present(driver: Driver, platform: Platform) -> Findings:
    libraries = need(driver.libraries)
    for soname in ("libnvidia-ml.so.1", "libcuda.so.1"):
        library = driver.library(soname)
        faulty = tuple(f"{one.path} is {need(one.fault)}" for one in libraries if one.soname == soname and need(one.fault))
        if isinstance(library, Unread) and faulty:
            yield fail(faulty[0], code="broken", found=faulty, wanted=f"a whole {soname}", remedy=_REINSTALL, action="install")
        elif isinstance(library, Unread):
            yield fail(f"the host has no {soname}", code="missing", found="none", wanted=soname)
        elif not library.cached and not library.path.startswith(CONTAINER_ROOT) and not lies_in_its_place(platform, library.path):
            yield fail(
                f"{library.path} is not in the dynamic linker's cache",
                code="not-cached",
                found=library.path,
                wanted="in /etc/ld.so.cache",
                remedy="Run 'ldconfig'; if that does not suffice, name the directory in a file of /etc/ld.so.conf.d first.",
                action="configure",
            )
