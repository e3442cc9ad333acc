"""Refusals by repositories, pins, transactions and space: the package manager could not do it, or would do more than planned."""

from collections.abc import Iterator

from hostagent.core.steps import Step
from hostagent.core.text import size
from hostagent.core.unread import Unread, need
from hostagent.domains.driver.tables.packages import belongs
from hostagent.domains.driver.tables.releases import floor
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES, driver_part
from hostagent.facts.packages import VersionLock, names
from hostagent.facts.version import admits, compare_upstream, upstream, wish
from hostagent.plan.model import Choices, Given, Portion, Refusal
from hostagent.plan.offers import Moved, RefreshFault, Transaction
from hostagent.plan.refusals.words import refusal, several, unread
from hostagent.plan.transactions import commands

#: Files of pins and locks that hostagent writes.
OURS = "/hostagent-"
#: Packages that are a kernel, by how their names begin.
_KERNELS = ("linux-image-", "kernel-core", "kernel-default", "kernel-azure", "kernel-uek-core", "kernel-64k-core", "kernel-rt-core")
_KERNEL = ("kernel", "kernel-hwe")

_AGAIN = Step("rerun", "Then plan again.", "hostagent plan")
_FAULTS = {
    "signature": ("A repository's signature is not valid", "a signature by the repository's key"),
    "weak-key": ("A repository's key is too weak for this package manager", "the repository's current key"),
    "unreachable": ("A repository cannot be reached", "a repository that answers"),
    "conflict": ("Two files name one repository with different keys", "one file per repository"),
    "lock": ("Another package manager has the lock", "a free lock"),
    "key": ("A repository's key cannot be had", "its pinned key"),
    "error": ("The package manager cannot read its repositories", "repositories that it reads"),
}


def of_install(given: Given, choices: Choices) -> Iterator[Refusal]:
    """A profile that asks for no version says what is accepted, not what to install."""
    parts = (
        ("driver", choices.driver.wanted, given.profile.driver.install),
        ("toolkit", choices.toolkit.wanted, given.profile.toolkit.install),
    )
    for part, is_wanted, version in parts:
        if is_wanted and not version:
            step = Step("configure", f"Name what to install: '{part}.install' in the profile, or use the profile 'default'.")
            found = f"an empty {part}.install, and a {part} to install"
            yield refusal("install-empty", f"The profile does not say which {part} to install", found, "a version or a branch", step)


def of_security(given: Given, choices: Choices) -> Iterator[Refusal]:
    """Refuses a version with an advisory only where the profile's ``security`` is critical."""
    version = choices.driver.version
    known = floor(choices.driver.branch)
    if given.profile.security != "critical" or not choices.driver.wanted or not version or known is None:
        return
    if compare_upstream(version, known.version) < 0:
        step = Step("configure", "Use a repository that has the corrected version, or set 'security: advisory' in the profile.")
        yield refusal("security", "The version to install has published vulnerabilities", version, f">= {known.version}", step)


def of_fault(given: Given, fault: "RefreshFault | Unread") -> Iterator[Refusal]:
    """Refusal with the package manager's own message, which names the repository."""
    if isinstance(fault, Unread):
        yield unread(fault, "what the repositories have")
        return
    headline, wanted = _FAULTS[fault.code]
    yield refusal(f"repository-{fault.code}", headline, fault.text or fault.url, wanted, _correct(given, fault), _AGAIN)


def _correct(given: Given, fault: RefreshFault) -> Step:
    """The step to correct it: the profile's keys where the profile names this repository."""
    policy = given.profile.install.repositories
    named = next(
        (name for name, one in (("cuda", policy.cuda), ("toolkit", policy.toolkit)) if one.url and one.url.rstrip("/") in fault.url), ""
    )
    if not named:
        return Step("configure", f"Correct the repository {fault.url or 'that it names'}, or take it out of the sources.")
    key = "key" if fault.code in ("signature", "weak-key", "key") else "url"
    return Step("configure", f"Correct 'install.repositories.{named}.{key}' in the profile, or the mirror itself.")


def held_lock(holder: str, seconds: int) -> Refusal:
    """For `install`, which waits that long first."""
    step = Step("rerun", "Wait until it has ended, then run it again; raise 'install.lock_timeout_s' in the profile to wait longer.")
    return refusal("lock", "Another package manager has the lock", f"{holder} after {seconds} s", "a free lock", step)


def of_locks(given: Given, choices: Choices) -> Iterator[Refusal]:
    """Pins and version locks of other owners that forbid the choice. Raises ``UnreadError``."""
    packages = need(given.view.packages)
    wanted = (*_wanted(choices.driver.wanted, choices.driver.packages, choices.driver.version or choices.driver.branch),
              *_wanted(choices.toolkit.wanted, choices.toolkit.packages, choices.toolkit.version),
              *_wanted(choices.cuda.wanted, choices.cuda.packages, choices.cuda.version))  # fmt: skip
    if not wanted:
        return
    for lock in need(packages.locks):
        if OURS in lock.file:
            continue
        hit = next(((name, version) for name, version in wanted if _forbids(lock, name, version)), None)
        if hit:
            step = Step("configure", f"Take the pin of {lock.package} out of {lock.file}, or set the profile to its version.")
            found = f"{lock.package} at {lock.version} in {lock.file}"
            yield refusal("pin", "A pin or lock of somebody else forbids the version to install", found, f"{hit[0]} {hit[1]}", step)


def _wanted(is_wanted: bool, packages: tuple[tuple[str, str], ...], version: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, version) for name, _ in packages) if is_wanted and version else ()


def _forbids(lock: VersionLock, name: str, version: str) -> bool:
    if not lock.version or not names(lock.package.removeprefix("src:"), name):
        return False
    prefix = upstream(lock.version)
    return not isinstance(prefix, Unread) and bool(prefix) and not admits(prefix, wish(version).constraint)


def of_transactions(given: Given, choices: Choices) -> Iterator[Refusal]:
    """Compares the effects of transactions, by the package manager, with the plan."""
    for argv, one in given.offers.transactions.items():
        yield from _of_transaction(given, choices, argv, one)


def _of_transaction(given: Given, choices: Choices, argv: tuple[str, ...], one: Transaction) -> Iterator[Refusal]:
    if one.error:
        step = Step("install", "Read what the package manager says, correct it, then plan again.")
        yield refusal("transaction", "The package manager refuses the transaction", one.error, "a transaction that it does", step)
        return
    removed = tuple(moved.name for moved in one.moved if not moved.after and not _may_go(moved.name, choices))
    if removed:
        step = Step("install", "Remove these packages yourself if nobody needs them, then plan again.")
        yield refusal("removes", "The transaction would remove packages that are not the driver's", several(removed), "none of them", step)
    kernels = tuple(f"{moved.name} {moved.after}" for moved in one.moved if moved.after and not moved.before and is_kernel(moved.name))
    if kernels and not given.profile.install.allow_kernel:
        step = Step("configure", "Allow it with 'install: {allow_kernel: true}' in the profile, or install the kernel yourself.")
        yield refusal("kernel", "The transaction would bring another kernel", several(kernels), "none", step)


def of_other_drivers(given: Given, choices: Choices) -> Iterator[Refusal]:
    """Refuses packages of CUDA or Docker that install, change or remove a driver: only the driver's part may."""
    command = commands(given.view, given.profile.install.lock_timeout_s)
    for part in (choices.cuda, choices.docker):
        answer = given.offers.transactions.get(command.install(part.packages)) if part.wanted else None
        moved = [one for one in (answer.moved if answer else ()) if _is_driver(one.name, one.before or one.after)]
        if others := tuple(f"{one.name} {one.after or 'removed'}" for one in moved if not _is_planned(one, choices)):
            step = Step("configure", "Name a package that does not depend on the driver: cuda-toolkit-13-0, and not cuda.")
            wanted = f"{part.packages[0][0]} without a driver of its own"
            yield refusal("other-driver", "A package beside the driver would change the driver", several(others), wanted, step)


def _is_driver(name: str, version: str) -> bool:
    plain = upstream(version)
    return not isinstance(plain, Unread) and belongs(name.partition(":")[0], plain)


def _is_planned(moved: Moved, choices: Choices) -> bool:
    """Whether the driver's own part has installed it before."""
    plain = upstream(moved.after) if moved.after else ""
    return bool(choices.driver.version) and plain == choices.driver.version


def is_kernel(name: str) -> bool:
    """Whether a package is a kernel.

    >>> is_kernel("linux-image-6.8.0-87-generic"), is_kernel("kernel-headers"), is_kernel("kernel")
    (True, False, True)
    """
    return name.startswith(_KERNELS) or name in _KERNEL


def _may_go(name: str, choices: Choices) -> bool:
    return name in choices.driver.removed or bool(driver_part(name)) or name in TOOLKIT_PACKAGES


def _of_answers(given: Given) -> tuple[tuple[str, int], ...]:
    """Sizes of each transaction once: the driver's includes the one before it."""
    every = {frozenset(argv): one for argv, one in given.offers.transactions.items()}
    whole = [one for words, one in every.items() if not any(words < other for other in every)]
    return ("/usr", sum(max(0, one.disk_bytes) for one in whole)), ("/var", sum(one.download_bytes for one in whole))


def of_space(given: Given, portion: Portion) -> Iterator[Refusal]:
    """By the needs of the plan's parts, and at least the transactions' own figures. Raises ``UnreadError``."""
    needed, asked = dict(portion.space), dict(_of_answers(given))
    needed |= {path: max(count, needed.get(path, 0)) for path, count in asked.items()}
    if not needed:
        return
    by_filesystem: dict[str, int] = {}
    filesystems = need(need(given.view.storage).filesystems)
    for path, count in needed.items():
        where = next((one for one in filesystems if path in one.holds), None) or next(
            (one for one in filesystems if "/" in one.holds), None
        )
        if where:
            by_filesystem[where.path] = by_filesystem.get(where.path, 0) + count
    for one in filesystems:
        count = by_filesystem.get(one.path, 0)
        if count and need(one.free_bytes) < count:
            step = Step("configure", "Free space: package caches, old kernels, container images, the journal.")
            found, wanted = f"{size(need(one.free_bytes))} free on {one.path}", f">= {size(count)}"
            yield refusal("space", "A filesystem has no room for the installation", found, wanted, step)
