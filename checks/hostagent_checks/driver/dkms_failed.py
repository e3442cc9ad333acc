"""DKMS tried to build the driver for a kernel that matters, and failed. The finding has the first error line of its log.

Common causes: missing headers, another gcc than the kernel was built with, a kernel that is newer than the driver knows.
"""

from hostagent.check import Findings, Step, check, fail, need, shell, skip
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel


@check(
    title="No DKMS build of the driver has failed",
    severity="warning",
    since="0.1",
    because=("kernel.module_present", "kernel.next_has_module"),
    headline="A DKMS build of the driver failed",
    remedy=(
        Step("install", "Fix what the build's log names: headers, gcc, or a driver that knows this kernel."),
        Step("install", "Build the module again.", command="dkms autoinstall -k <kernel>"),
    ),
    references=("dkms(8)", "NVIDIA/open-gpu-kernel-modules issues 441 and 468"),
    confirm=(
        "dkms status",
        "tail -n 40 /var/lib/dkms/nvidia*/*/build/make.log",
    ),
)
def dkms_failed(driver: Driver, kernel: Kernel) -> Findings:
    builds = need(driver.dkms)
    if not builds:
        skip("DKMS builds no nvidia module on this host")
    for build in builds:
        if build.failed and build.failed_kernel in ("", need(kernel.release), *need(kernel.next_releases)):
            error = build.error or "no error line in make.log"
            broken = build.failed_kernel or need(kernel.release)
            read = Step(
                "install", "Fix what the build's log names: headers, gcc, or a driver for this kernel.", shell("tail -n 40 {}", build.log)
            )
            steps = (read, Step("install", "Build the module again.", shell("dkms autoinstall -k {}", broken)))
            yield fail(
                f"the build of {build.module} {build.version} for kernel {build.failed_kernel or 'unknown'} failed: {error}",
                code="build-failed",
                found=error,
                wanted="a built module",
                evidence=(build.log,),
                remedy=steps if build.log else steps[1:],
            )
