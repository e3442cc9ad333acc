"""Packages, sizes and reasons of the driver's transactions, for the plan."""

from hostagent.core.unread import UnreadError, need
from hostagent.domains.driver.tables.packages import DKMS_BYTES, INITRAMFS_BYTES, belongs
from hostagent.domains.driver.tables.releases import floor
from hostagent.domains.packages.tables.names import driver_part
from hostagent.facts.version import satisfies
from hostagent.plan.answers import origin_of, size_of
from hostagent.plan.driver import probes
from hostagent.plan.driver.installed import driver_of, has_advisory, packages_of
from hostagent.plan.model import DriverChoice, Given, PlannedPackage
from hostagent.plan.transactions import Commands
from hostagent.plan.view import View

_MODULE = "kernel module"
Argvs = tuple[tuple[str, ...], ...]


def transactions(commands: Commands, choice: DriverChoice, view: View) -> Argvs:
    """The argv of the transactions that are still to be done; the last one includes those before it."""
    found = []
    if choice.before and not probes.is_done(probes.headers_there, view, choice):
        found.append(commands.install(choice.before))
    if choice.wanted and not probes.is_done(probes.set_there, view, choice):
        found.append(whole_set(commands, choice, view))
    return tuple(found)


def whole_set(commands: Commands, choice: DriverChoice, view: View) -> tuple[str, ...]:
    """The driver with the packages of transaction 1: by itself, it would bring another compiler for DKMS. Packages at their version with
    missing files are reinstalled, but for the module: a new build would leave an older initramfs.
    """
    if choice.version and probes.is_done(probes.packages_there, view, choice):
        return commands.reinstall(one for one in choice.packages if driver_part(one[0]) != _MODULE)
    return commands.install((*choice.before, *choice.packages), choice.removed)


def planned(given: Given, choice: DriverChoice, argvs: Argvs) -> tuple[PlannedPackage, ...]:
    """As the package manager answered; before that the names of the choice. Raises ``UnreadError``."""
    answered = [given.offers.transactions[argv] for argv in argvs if argv in given.offers.transactions]
    if argvs and len(answered) == len(argvs):
        found = {}
        for one in (moved for answer in answered for moved in answer.moved):
            origin = origin_of(given, one.url) if one.after else ""
            size = size_of(given, one.name, one.after)
            found[one.name] = PlannedPackage(one.name, "driver", one.before or None, one.after or None, origin, size)
        return tuple(found.values())
    return _named(given, choice) if choice.wanted else ()


def _named(given: Given, choice: DriverChoice) -> tuple[PlannedPackage, ...]:
    have = {one.name: one.version for one in packages_of(given.view)}
    unresolved = f"{choice.branch}.*"
    coming = [(name, version, "distribution") for name, version in choice.before]
    coming += [(name, version or unresolved, choice.origin) for name, version in choice.packages]
    found = [
        PlannedPackage(name, "driver", have.get(name), version or None, origin, size_of(given, name, version))
        for name, version, origin in coming
        if have.get(name) != version and (version or name not in have)
    ]
    return (*found, *(PlannedPackage(name, "driver", have.get(name.partition(":")[0]), None, "") for name in choice.removed))


def needed_space(given: Given, choice: DriverChoice, argvs: Argvs) -> tuple[tuple[str, int], ...]:
    """Bytes by directory; none where nothing is to do."""
    answered = [given.offers.transactions[argv] for argv in argvs if argv in given.offers.transactions]
    if not choice.wanted or len(answered) < len(argvs) or not choice.version:
        return ()
    build = DKMS_BYTES * len(choice.kernels) if choice.delivery == "dkms" else 0
    boot = INITRAMFS_BYTES * sum(_has_initramfs(given.view, one) for one in choice.kernels)
    whole = answered[-1:]  # it includes the one before it
    usr = max(0, sum(one.disk_bytes for one in whole))
    var = sum(one.download_bytes for one in whole) + build
    return tuple((path, needed) for path, needed in (("/usr", usr), ("/var", var), ("/boot", boot)) if needed)


def _has_initramfs(view: View, release: str) -> bool:
    try:
        return probes.has_initramfs(view, release)
    except UnreadError:
        return True


def why_packages(given: Given, choice: DriverChoice) -> str:
    """The installed version, the wanted one, and advisories."""
    have = sorted({one.upstream for one in driver_of(packages_of(given.view))})
    found = f"driver {' and '.join(have)}" if have else "no driver"
    wanted = given.profile.driver.version or given.profile.driver.install
    text = f"found {found}, the profile asks for {wanted}"
    if have and all(satisfies(one, given.profile.driver.version) for one in have) and not given.asked.upgrade:
        text = f"found {found} in part: a kernel has no module, or a package is missing, not configured or at another version"
    known = floor(choice.branch)
    if known and choice.version and has_advisory(choice.version):
        text += f"; {choice.version} lacks the security fixes of {known.version} (bulletin {known.bulletin})"
    return text


def moved(given: Given, argvs: Argvs) -> frozenset[str]:
    """All packages that the transactions bring or change, by name."""
    answers = (given.offers.transactions.get(argv) for argv in argvs)
    return frozenset(one.name.partition(":")[0] for answer in answers if answer for one in answer.moved if one.after)


def moved_driver(given: Given, argvs: Argvs) -> frozenset[str]:
    """Packages of the driver that the transactions bring, by name."""
    from hostagent.core.unread import Unread
    from hostagent.facts.version import upstream

    names = set()
    for argv in argvs:
        answer = given.offers.transactions.get(argv)
        for one in answer.moved if answer else ():
            version = upstream(one.after) if one.after else ""
            if one.after and not isinstance(version, Unread) and belongs(one.name, version):
                names.add(one.name)
    return frozenset(names)


def held_before(given: Given) -> frozenset[str]:
    """Names that the package manager's own mark holds now, or held before a run that did not end. Raises ``UnreadError``."""
    have = need(need(given.view.installation).packages)
    return frozenset(one.name for one in have if one.held or one.name in given.asked.held)
