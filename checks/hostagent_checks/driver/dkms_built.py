"""DKMS has a newer driver than it has built for a kernel that matters: that kernel boots with an old module or none.

Packages can be installed "successfully" without it: rpm ignores a failing scriptlet, and DKMS skips a kernel without headers.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.domains.driver.boot import build_module
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages


@check(
    title="DKMS has built the newest driver for this and the next kernel",
    severity="warning",
    since="0.1",
    because=("kernel.module_present", "kernel.next_has_module", "driver.dkms_failed"),
    headline="DKMS has not built the newest driver for kernel {wanted}",
    remedy=(
        Step("install", "Install the headers of that kernel."),
        Step("install", "Build the module.", command="dkms autoinstall -k <kernel>"),
    ),
    references=("dkms(8)", "NVIDIA/open-gpu-kernel-modules issues 441 and 468"),
    confirm=(
        "dkms status",
        "uname -r",
    ),
)
def dkms_built(driver: Driver, kernel: Kernel, packages: Packages | Unread, os: Os | Unread) -> Findings:
    newest = {build.module: build for build in reversed(need(driver.dkms))}  # newest first: the last one kept is the newest
    if not newest:
        skip("DKMS builds no nvidia module on this host")
    for release in dict.fromkeys((need(kernel.release), *need(kernel.next_releases))):
        for module, build in newest.items():
            if release not in build.kernels:
                where = f"for {first_of(build.kernels)}, but not for kernel {release}" if build.kernels else "for no kernel"
                yield fail(
                    f"DKMS has built {module} {build.version} {where}",
                    code="not-built",
                    found=first_of(build.kernels) or "none",
                    wanted=release,
                    remedy=build_module(kernel, packages, os, release),
                )
