"""A kernel has neither an nvidia module nor the headers that DKMS needs to build one.

This is why the module is missing: DKMS builds the driver again for each kernel, and skips a kernel without headers in silence.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.driver.boot import build_module
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

from ._boot import judged


@check(
    title="DKMS has the headers of each kernel that it has no module for",
    severity="warning",
    since="0.1",
    because=("kernel.module_present", "kernel.next_has_module"),
    headline="DKMS has no headers to build the module of kernel {wanted}",
    remedy=(
        Step("install", "Install the headers of that kernel."),
        Step("install", "Build the module.", command="dkms autoinstall -k <kernel>"),
    ),
    references=("dkms(8)", "NVIDIA Driver Installation Guide, section Kernel Headers"),
    confirm=(
        "ls -l /lib/modules/*/build  # a link that leads nowhere: no headers",
        "dkms status",
    ),
)
def headers(kernel: Kernel, driver: Driver, packages: Packages | Unread, os: Os | Unread) -> Findings:
    if not need(driver.dkms):
        skip("DKMS builds no nvidia module on this host")
    for one in judged(kernel):
        if not need(one.nvidia_path) and not need(one.headers):
            message = f"kernel {one.release} has no nvidia module and no headers to build one"
            steps = build_module(kernel, packages, os, one.release)
            yield fail(message, code="missing", found="no headers", wanted=one.release, remedy=steps)
