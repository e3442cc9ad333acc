"""The packages of the fabric, which work at the loaded driver's version alone."""

import re
from collections.abc import Iterable

from hostagent.check import Findings, Step, Unread, fail, need
from hostagent.domains.packages.commands import install
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Package, Packages
from hostagent.facts.version import branch


def named(packages: Iterable[Package], stems: Iterable[str]) -> tuple[Package, ...]:
    """Those packages whose name is one of `stems`, or one with a branch at its end: nvidia-fabricmanager-570."""
    wanted = tuple(stems)
    return tuple(one for one in packages if _stem(one.name) in wanted)


def _stem(name: str) -> str:
    """The name without a branch at its end."""
    stem, _, last = name.rpartition("-")
    return stem if stem and last.isdigit() else name


def other_versions(
    packages: Iterable[Package], driver: Driver, kernel: Kernel, database: Packages, os: Os | Unread, *after: Step
) -> Findings:
    """A failure for each version of packages that is not the loaded driver's; `after` is done when they are installed."""
    loaded = need(driver.loaded_version)
    others: dict[object, list[Package]] = {}
    for package in packages:
        if package.upstream != loaded:
            others.setdefault(package.upstream, []).append(package)
    for version, ones in others.items():
        names = [one.name for one in ones]
        remedy = _reboot(ones[0], kernel)
        steps = tuple(step for name in names for step in install_at(name, loaded, database, os))
        yield fail(
            f"{', '.join(names)} {'are' if len(names) > 1 else 'is'} {version}, driver {loaded} is loaded",
            code="reboot-pending" if remedy else "other-version",
            found=version,
            wanted=loaded,
            remedy=remedy or (*steps, *after),
        )


def install_at(name: str, version: str, database: Packages, os: Os | Unread) -> tuple[Step, ...]:
    """A package with a branch in its name is replaced with that of the other branch."""
    renamed = re.sub(r"-\d{3}$", f"-{branch(version)}", name)
    return (Step("install", f"Install {renamed} {version}.", install(database, os, (renamed,), version)),)


def _reboot(package: Package, kernel: Kernel) -> tuple[Step, ...]:
    """After an upgrade a package has the version of the module on disk; () where it has not.

    Taking the package back would leave it behind at the reboot that is due.
    """
    running = kernel.at(kernel.release)
    on_disk = running if isinstance(running, Unread) else running.nvidia_version
    is_pending = not isinstance(on_disk, Unread) and not isinstance(package.upstream, Unread) and on_disk == package.upstream
    return (Step("reboot", f"Reboot the node: the kernel module on disk is {on_disk} already."),) if is_pending else ()
