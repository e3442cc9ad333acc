"""The packages of the fabric, which work at the loaded driver's version alone."""

from collections.abc import Iterable

from hostagent.check import Findings, Step, fail, need
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.packages import Package
from hostagent.facts.unread import Unread


def named(packages: Iterable[Package], stems: Iterable[str]) -> tuple[Package, ...]:
    """Those packages whose name is one of `stems`, or one with a branch at its end: nvidia-fabricmanager-570."""
    wanted = tuple(stems)
    return tuple(one for one in packages if _stem(one.name) in wanted)


def _stem(name: str) -> str:
    """The name without a branch at its end."""
    stem, _, last = name.rpartition("-")
    return stem if stem and last.isdigit() else name


def other_versions(packages: Iterable[Package], driver: Driver, kernel: Kernel) -> Findings:
    """A failure per package whose version is not that of the loaded driver."""
    loaded = need(driver.loaded_version)
    for package in packages:
        if package.upstream != loaded:
            remedy = _remedy(package, kernel)
            code = "reboot-pending" if remedy else "other-version"
            yield fail(
                f"{package.name} {package.upstream}, driver {loaded}",
                code=code,
                found=package.upstream,
                wanted=loaded,
                remedy=remedy,
            )


def _remedy(package: Package, kernel: Kernel) -> tuple[Step, ...]:
    """After an upgrade a package has the version of the module on disk; () for the check's own remedy.

    Taking the package back would leave it behind at the reboot that is due.
    """
    running = kernel.at(kernel.release)
    on_disk = running if isinstance(running, Unread) else running.nvidia_version
    is_pending = not isinstance(on_disk, Unread) and not isinstance(package.upstream, Unread) and on_disk == package.upstream
    return (Step("reboot", "Reboot the node: the kernel module on disk has this version already."),) if is_pending else ()
