"""The host has more than one copy of a driver library: which of them a program gets depends on directory order.

Two causes are common: a .run installation in addition to packages, and CUDA's forward-compatibility package in the linker's
path. When one copy is upgraded the other stays, and fails with a version mismatch (NVML 18, CUDA 803).
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of
from hostagent.facts.driver import Driver

from ._container import host_libraries

_LDCONFIG = Step("configure", "Renew the linker's cache.", command="ldconfig")


@check(
    title="Each driver library is installed once",
    severity="warning",
    since="0.1",
    because=("driver.runfile", "driver.library_match"),
    headline="A driver library is installed more than once",
    remedy=(
        Step("install", "Remove the copies that belong to no package."),
        _LDCONFIG,
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
            yield fail(
                f"{soname} is installed {len(paths)} times",
                code=code,
                found=first_of(paths),
                wanted="one file",
                remedy=_steps(driver, code),
            )


def _steps(driver: Driver, code: str) -> tuple[Step, ...]:
    if code == "cuda-compat":
        text = "Take the directory of CUDA's compat libraries out of /etc/ld.so.conf.d."
        return (Step("configure", text, command="grep -rl compat /etc/ld.so.conf.d"), _LDCONFIG)
    traces = () if isinstance(driver.runfile_traces, Unread) else driver.runfile_traces
    if any(path.endswith("/nvidia-uninstall") for path in traces):
        return (Step("install", "Remove the .run installation.", command="nvidia-uninstall"), _LDCONFIG)
    return ()
