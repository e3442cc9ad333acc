"""The nvidia module was built for another kernel than the one whose directory it lies in: that kernel refuses to load it.

This happens when modules are copied or linked between kernels, as weak-modules does, or when a build used wrong headers.
"""

from hostagent.check import Findings, check, fail, need, warn
from hostagent.facts.kernel import Kernel


@check(
    title="The nvidia module was built for the kernel it is installed for",
    severity="critical",
    proved_by=("driver.loaded",),
    since="0.1",
    remedy="Build or install the module for that kernel: 'dkms install --force nvidia/<version> -k <kernel>', or the kernel's own package.",
    references=("modinfo(8), field vermagic",),
)
def module_vermagic(kernel: Kernel) -> Findings:
    release, following = need(kernel.release), need(kernel.next_release)
    for wanted in dict.fromkeys((release, following)):
        built_for = need(need(kernel.at(wanted)).nvidia_vermagic).partition(" ")[0]
        if built_for != wanted:
            report = fail if wanted == release else warn
            yield report(f"nvidia.ko of kernel {wanted} was built for {built_for}", code="other-kernel", found=built_for, wanted=wanted)
