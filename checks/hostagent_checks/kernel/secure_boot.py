"""Secure Boot refuses the nvidia module: it is not signed, or signed by a key that the firmware does not know.

`modprobe nvidia` then says "Key was rejected by service" or "Required key not available". There are two places for
keys of modules built on the host, /var/lib/shim-signed/mok (Ubuntu) and /var/lib/dkms (others), and enrolling the key of one
does not enrol that of the other.
"""

import re
from collections.abc import Callable

from hostagent.check import Finding, Findings, Step, Unread, check, fail, need, shell, warn
from hostagent.core.tables.kernel_log import KEY_REFUSED
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os

from ._boot import following

_REFUSED = re.compile(KEY_REFUSED)
#: Of keys of modules built on the host: update-secureboot-policy(8) of Ubuntu's shim-signed, and dkms(8), section Signing modules.
UBUNTU_KEY, DKMS_KEY = "/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub"


@check(
    title="Secure Boot accepts the nvidia module",
    severity="critical",
    proved_by=("driver.loaded",),
    since="0.1",
    headline="Secure Boot does not accept the nvidia module",
    remedy=(
        Step("install", "Install the distribution's signed module packages, or enrol the key of the module."),
        Step("reboot", "Reboot the node, and confirm a new key at its console."),
    ),
    references=("Linux kernel, Documentation/admin-guide/module-signing.rst", "linux-surface issue 906"),
    confirm=(
        "mokutil --sb-state",
        "modinfo -F signer nvidia",
        "journalctl -k -g 'rejected|Lockdown'",
    ),
)
def secure_boot(kernel: Kernel, driver: Driver, os: Os | Unread) -> Findings:
    if kernel.secure_boot is False and kernel.module_signatures_enforced is False:
        return
    release, loaded = need(kernel.release), need(driver.loaded)
    steps = _enrol(driver, os)
    if not loaded and not (need(kernel.secure_boot) or need(kernel.module_signatures_enforced)):
        return
    running = kernel.at(release)
    if not loaded and not isinstance(running, Unread) and need(running.nvidia_path) and not need(running.nvidia_signer):
        yield _unsigned(fail, release, steps)
    yield from _next(kernel, steps)
    if loaded or isinstance(running, Unread) or not need(running.nvidia_path) or not need(running.nvidia_signer):
        return
    refused = tuple(line for line in need(kernel.log) if _REFUSED.match(line))
    if refused:
        yield fail(
            f"the kernel refused a module's key, and nvidia.ko is signed by {need(running.nvidia_signer)!r}",
            code="key-rejected",
            found=need(running.nvidia_signer),
            wanted="an enrolled key",
            evidence=refused[-3:],
            remedy=steps,
        )


def _enrol(driver: Driver, os: Os | Unread) -> tuple[Step, ...]:
    """Where DKMS builds the module, and where that keeps its key; () for the check's own remedy."""
    if isinstance(driver.dkms, Unread) or not driver.dkms or isinstance(os, Unread) or isinstance(os.id, Unread):
        return ()
    key = UBUNTU_KEY if os.id == "ubuntu" else DKMS_KEY
    return (
        Step("install", "Enrol the key with which DKMS signs modules.", shell("mokutil --import {}", key)),
        Step("reboot", "Reboot the node, and confirm the key at its console."),
    )


def _next(kernel: Kernel, steps: tuple[Step, ...]) -> Findings:
    """A running host warns. What the firmware says is asked only where another kernel has a module that is not signed."""
    others = [one for one in following(kernel) if one.release != need(kernel.release) and need(one.nvidia_path)]
    unsigned = [one.release for one in others if not need(one.nvidia_signer)]
    states = (kernel.secure_boot, kernel.module_signatures_enforced)
    if unsigned and (True in [one for one in states if not isinstance(one, Unread)] or any(isinstance(one, Unread) for one in states)):
        for release in unsigned:
            yield _unsigned(warn, release, steps, is_read=not any(isinstance(one, Unread) for one in states))


def _unsigned(report: Callable[..., Finding], release: str, steps: tuple[Step, ...], *, is_read: bool = True) -> Finding:
    return report(
        f"Secure Boot {'is' if is_read else 'may be'} on and the nvidia module of kernel {release} is not signed",
        code="unsigned",
        found="not signed",
        wanted="signed with an enrolled key",
        remedy=steps,
    )
