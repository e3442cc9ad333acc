"""The nvidia module was built for another kernel than the one whose directory it lies in: that kernel may refuse to load it.

A kernel compares the module's vermagic with its own. Where both have symbol versions ("modversions") the release does not count,
and the checksums of the symbols decide: so modules of weak-modules, of SUSE's KMP and of ELRepo serve many kernels. Nobody has
compared a module that was copied there by hand. Where a module is loaded, this is about the next boot.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, warn
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

from ._boot import is_image
from ._fit import misfit, repaired_by


@check(
    title="The nvidia module was built for its kernel",
    severity="critical",
    proved_by=("driver.loaded",),
    since="0.1",
    headline="The nvidia module was built for another kernel",
    remedy=(Step("install", "Install the module that was built for this kernel, from where the present one comes."),),
    references=("modinfo(8), field vermagic", "Linux kernel, kernel/module/version.c, same_magic", "weak-modules(8)"),
    confirm=(
        "modinfo -F vermagic nvidia",
        "uname -r",
        "journalctl -k -g 'version magic|disagrees about version'",
    ),
)
def module_vermagic(kernel: Kernel, driver: Driver, packages: Packages | Unread, os: Os | Unread) -> Findings:
    one = need(kernel.at(need(kernel.release)))
    need(one.nvidia_vermagic)
    loaded = need(driver.loaded) if not is_image(kernel) else False
    if found := misfit(one, kernel, driver):
        report = fail if found.refused and not loaded else warn
        steps = repaired_by(one, driver, packages, os)
        yield report(found.message, code=found.code, found=found.found, wanted=found.wanted, remedy=steps)
