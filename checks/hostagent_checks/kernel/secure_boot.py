"""Secure Boot refuses the nvidia module: it has no signature, or one by a key that the firmware does not know.

`modprobe nvidia` then says "Key was rejected by service" or "Required key not available". There are two places for
keys of modules built on the host, /var/lib/shim-signed/mok (Ubuntu) and /var/lib/dkms (others), and enrolling the key of one
does not enrol that of the other.
"""

import re
from collections.abc import Callable

from hostagent.check import Finding, Findings, Step, check, fail, need, warn
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread
from hostagent.knowledge.kernellog import KEY_REFUSED

from ._boot import following

_REFUSED = re.compile(KEY_REFUSED)


@check(
    title="Secure Boot accepts the nvidia module",
    severity="critical",
    proved_by=("driver.loaded",),
    since="0.1",
    headline="Secure Boot does not accept the nvidia module",
    remedy=(
        Step(
            "install",
            "Install the distribution's signed module packages; or enrol the key that signs the module ('mokutil --import <key>.der', "
            "confirmed at the console at the next boot); or turn Secure Boot off.",
        ),
    ),
    references=("Linux kernel, Documentation/admin-guide/module-signing.rst", "linux-surface issue 906"),
    confirm=(
        "mokutil --sb-state",
        "modinfo -F signer nvidia",
        "journalctl -k -g 'rejected|Lockdown'",
    ),
)
def secure_boot(kernel: Kernel, driver: Driver) -> Findings:
    if kernel.secure_boot is False and kernel.module_signatures_enforced is False:
        return
    release, loaded = need(kernel.release), need(driver.loaded)
    if not loaded and not (need(kernel.secure_boot) or need(kernel.module_signatures_enforced)):
        return
    running = kernel.at(release)
    if not loaded and not isinstance(running, Unread) and need(running.nvidia_path) and not need(running.nvidia_signer):
        yield _unsigned(fail, release)
    yield from _next(kernel)
    if loaded or isinstance(running, Unread) or not need(running.nvidia_path) or not need(running.nvidia_signer):
        return
    refused = tuple(line for line in need(kernel.log) if _REFUSED.match(line))
    if refused:
        yield fail(
            f"the kernel refused a module's key; nvidia.ko is signed by {need(running.nvidia_signer)!r}",
            code="key-rejected",
            found=need(running.nvidia_signer),
            wanted="an enrolled key",
            evidence=refused[-3:],
        )


def _next(kernel: Kernel) -> Findings:
    """A running host warns. What the firmware says is asked only where another kernel has a module that is not signed."""
    others = [one for one in following(kernel) if one.release != need(kernel.release) and need(one.nvidia_path)]
    unsigned = [one.release for one in others if not need(one.nvidia_signer)]
    states = (kernel.secure_boot, kernel.module_signatures_enforced)
    if unsigned and (True in [one for one in states if not isinstance(one, Unread)] or any(isinstance(one, Unread) for one in states)):
        for release in unsigned:
            yield _unsigned(warn, release, is_read=not any(isinstance(one, Unread) for one in states))


def _unsigned(report: Callable[..., Finding], release: str, *, is_read: bool = True) -> Finding:
    return report(
        f"Secure Boot {'is' if is_read else 'may be'} on and the nvidia module of kernel {release} is not signed",
        code="unsigned",
        found="not signed",
        wanted="signed with an enrolled key",
    )
