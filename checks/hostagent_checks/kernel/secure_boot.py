"""Secure Boot refuses the nvidia module: it is not signed, or by a key that the firmware does not know.

`modprobe nvidia` then says "Key was rejected by service" or "Required key not available". There are two places for
keys of modules built on the host, /var/lib/shim-signed/mok (Ubuntu) and /var/lib/dkms (others), and enrolling the key of one
does not enrol that of the other.
"""

import re

from hostagent.check import Findings, check, fail, need, warn
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread
from hostagent.knowledge.kernellog import KEY_REFUSED

_REFUSED = re.compile(KEY_REFUSED)


@check(
    title="Secure Boot accepts the nvidia module",
    severity="critical",
    proved_by=("driver.loaded",),
    since="0.1",
    remedy="Install the distribution's signed module packages, or enrol the key the module is signed with ('mokutil --import <key>.der', "
    "confirmed at the console during the next boot), or turn Secure Boot off.",
    references=("Linux kernel, Documentation/admin-guide/module-signing.rst", "linux-surface issue 906"),
)
def secure_boot(kernel: Kernel, driver: Driver) -> Findings:
    if not (need(kernel.secure_boot) or need(kernel.module_signatures_enforced)):
        return
    release, following = need(kernel.release), need(kernel.next_release)
    loaded = need(driver.loaded)
    for one in need(kernel.installed):
        if one.release not in (release, following) or (loaded and one.release == release) or not need(one.nvidia_path):
            continue
        if not need(one.nvidia_signer):
            report = fail if one.release == release else warn
            yield report(
                f"Secure Boot is on and the nvidia module of kernel {one.release} is not signed",
                code="unsigned",
                found="not signed",
                wanted="signed with an enrolled key",
            )
    running = kernel.at(release)
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
