"""The next boot: which kernels it may take. Of an image it is the first one."""

from hostagent.check import Unread, need
from hostagent.facts.kernel import InstalledKernel, Kernel


def is_image(kernel: Kernel) -> bool:
    """Nothing runs: what the next boot does is all there is to judge."""
    return any(isinstance(one, Unread) and one.why == "not-running" for one in (kernel.booted_at, kernel.loaded_modules))


def following(kernel: Kernel) -> tuple[InstalledKernel, ...]:
    """The kernel that the next boot takes; every installed one where its entry is unread: `kernel.boot_entry` says that."""
    if not isinstance(kernel.next_release, Unread):
        return _there(kernel, kernel.next_release)
    if is_image(kernel):
        need(kernel.next_release)
    return need(kernel.installed)


def judged(kernel: Kernel) -> tuple[InstalledKernel, ...]:
    """The running kernel, and those that the next boot may take."""
    running = need(kernel.release)
    return (*_there(kernel, running), *(one for one in following(kernel) if one.release != running))


def _there(kernel: Kernel, release: str) -> tuple[InstalledKernel, ...]:
    """None where it has no directory of modules: `kernel.module_present` and `kernel.next_has_module` say that."""
    return tuple(one for one in need(kernel.installed) if one.release == release)
