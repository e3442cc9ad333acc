"""/boot has no room for one more initramfs: the next kernel or driver update leaves a truncated one.

Every driver change rebuilds the initramfs of each kernel, and each is 60 to 200 MB with the driver's firmware in it. A node
whose initramfs was cut short does not come back from its reboot.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, size, skip
from hostagent.domains.packages.commands import program_of
from hostagent.facts.host import Storage
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

_COMMANDS = {"apt-get": "apt-get autoremove --purge", "dnf": "dnf remove --oldinstallonly", "zypper": "zypper purge-kernels"}


class Params(NamedTuple):
    """min_free_bytes: bytes that must be free on the filesystem of /boot"""

    min_free_bytes: int = 300_000_000


@check(
    title="/boot has room for another initramfs",
    severity="warning",
    since="0.1",
    headline="/boot has no room for another initramfs",
    remedy=(Step("configure", "Remove kernels that no boot entry needs."),),
    references=("initramfs-tools(7)", "dracut(8)"),
    confirm=("df -h /boot",),
)
def boot_space(storage: Storage, packages: Packages | Unread, os: Os | Unread, params: Params) -> Findings:
    holding = [one for one in need(storage.filesystems) if "/boot" in one.holds]
    if not holding:
        skip("this host has no /boot")
    for one in holding:
        free = need(one.free_bytes)
        if free < params.min_free_bytes:
            steps = (Step("configure", "Remove kernels that no boot entry needs.", _COMMANDS.get(program_of(packages, os), "")),)
            found, wanted = f"{size(free)} free", f">= {size(params.min_free_bytes)}"
            yield fail(f"/boot has {found}", code="full", found=found, wanted=wanted, remedy=steps)
