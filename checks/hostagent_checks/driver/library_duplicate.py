"""The host has more than one copy of a driver library: which of them a program gets depends on directory order.

Two causes are common: a .run installation in addition to packages, and CUDA's forward-compatibility package in the linker's
path. When one copy is upgraded the other stays, and fails with a version mismatch (NVML 18, CUDA 803).
"""

from hostagent.check import Findings, Step, check, fail
from hostagent.facts.driver import Driver

from ._container import host_libraries


@check(
    title="Each driver library is there once",
    severity="warning",
    since="0.1",
    because=("driver.runfile", "driver.library_match"),
    headline="A driver library is installed more than once",
    remedy=(
        Step(
            "install",
            "Remove the copies that belong to no package ('nvidia-uninstall' for a .run installation), and take compat directories out "
            "of /etc/ld.so.conf.d.",
        ),
        Step("configure", "Renew the linker's cache.", command="ldconfig"),
    ),
    references=("ld.so(8)", "CUDA Compatibility, section Forward Compatibility"),
    confirm=(
        "ldconfig -p | grep -E 'libcuda|libnvidia-ml'",
        "find / -xdev -name 'libcuda.so.[0-9]*.*'",
    ),
)
def library_duplicate(driver: Driver) -> Findings:
    libraries = host_libraries(driver)
    for soname in ("libnvidia-ml.so.1", "libcuda.so.1"):
        paths = tuple(one.path for one in libraries if one.soname == soname)
        if len(paths) > 1:
            code = "cuda-compat" if any("/compat/" in path for path in paths) else "duplicate"
            yield fail(f"{soname} is there {len(paths)} times", code=code, found=paths, wanted="one file")
