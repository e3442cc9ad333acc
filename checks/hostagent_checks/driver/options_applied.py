"""A module option of /etc/modprobe.d is not in effect: the module was loaded without it.

Either it was added later and a reboot is pending, or the module is loaded from an initramfs that does not contain the file.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import rebuild_initramfs
from hostagent.facts.driver import Driver
from hostagent.facts.packages import Packages

_PREFIX = "NVreg_"


@check(
    title="The loaded module has the options that modprobe.d sets",
    severity="warning",
    since="0.1",
    headline="The loaded module does not have the options that modprobe.d sets",
    remedy=(
        Step("configure", "Rebuild the initramfs."),
        REBOOT,
    ),
    references=("modprobe.d(5)", "/proc/driver/nvidia/params"),
    confirm=(
        "modprobe -c | grep '^options nvidia'",
        "cat /proc/driver/nvidia/params",
    ),
)
def options_applied(driver: Driver, packages: Packages | Unread) -> Findings:
    in_force = dict(need(driver.parameters))
    wanted = {name.removeprefix(_PREFIX): value for name, value in need(driver.module_options) if name.startswith(_PREFIX)}
    known = {name: value for name, value in wanted.items() if name in in_force}
    if not known:
        skip("modprobe.d sets no option that the driver reports")
    for name, value in known.items():
        if _number(value) != _number(in_force[name]):
            text, steps = f"{_PREFIX}{name} is {in_force[name] or 'empty'}, modprobe.d sets {value}", (rebuild_initramfs(packages), REBOOT)
            yield fail(text, code="not-applied", found=in_force[name] or "empty", wanted=value, remedy=steps)


def _number(text: str) -> "int | str":
    """A parameter as the kernel reads it: 0x is hexadecimal, a leading 0 octal; -1 is shown as 4294967295."""
    word = text.strip('"')
    try:
        return int(word, 8 if word.isdecimal() and len(word) > 1 and word.startswith("0") else 0) & 0xFFFFFFFF
    except ValueError:
        return word
