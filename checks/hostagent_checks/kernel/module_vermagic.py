"""The nvidia module was built for another kernel than the one whose directory it lies in: that kernel may refuse to load it.

A kernel compares the module's vermagic with its own. Where both have symbol versions ("modversions") the release does not count,
and the checksums of the symbols decide: so modules of weak-modules, of SUSE's KMP and of ELRepo serve many kernels. Nobody has
compared a module that was copied there by hand. Where a module is loaded, this is about the next boot.
"""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel

from ._boot import is_image
from ._fit import mended_by, misfit


@check(
    title="The nvidia module fits the kernel it is installed for",
    severity="critical",
    proved_by=("driver.loaded",),
    since="0.1",
    headline="The nvidia module does not fit its kernel",
    remedy=(Step("install", "Install the module that was built for that kernel, from the origin of the present one."),),
    references=("modinfo(8), field vermagic", "Linux kernel, kernel/module/version.c, same_magic", "weak-modules(8)"),
    confirm=(
        "modinfo -F vermagic nvidia",
        "uname -r",
        "journalctl -k -g 'version magic|disagrees about version'",
    ),
)
def module_vermagic(kernel: Kernel, driver: Driver) -> Findings:
    one = need(kernel.at(need(kernel.release)))
    need(one.nvidia_vermagic)
    loaded = need(driver.loaded) if not is_image(kernel) else False
    if found := misfit(one, kernel, driver):
        report = fail if found.refused and not loaded else warn
        yield report(
            found.message, code=found.code, found=found.found, wanted=found.wanted, remedy=mended_by(one, driver), action="install"
        )
