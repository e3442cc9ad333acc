"""Preconditions: each that does not hold is a refusal, before any change."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from hostagent.core.unread import UnreadError
from hostagent.plan.driver.refused import of_secure_boot, of_use
from hostagent.plan.model import Choices, Given, Portion, Refusal
from hostagent.plan.refusals.host import of_cloud_init, of_gpus, of_names, of_runfile
from hostagent.plan.refusals.packages import of_fault, of_install, of_locks, of_other_drivers, of_security, of_space, of_transactions
from hostagent.plan.refusals.system import of_driver_container, of_owners, of_system
from hostagent.plan.refusals.words import unread

_BEFORE: tuple[tuple[str, Callable[[Given], Iterator[Refusal]]], ...] = (
    ("the system", of_system),
    ("the owner of a part of this host", of_owners),
    ("whether a driver container has the driver", of_driver_container),
    ("the names of packages", of_names),
    ("the GPUs", of_gpus),
    ("whether a .run file installed the driver", of_runfile),
    ("what cloud-init does here", of_cloud_init),
)
_AFTER: tuple[tuple[str, Callable[[Given, Choices], Iterator[Refusal]]], ...] = (
    ("what to install", of_install),
    ("published vulnerabilities", of_security),
    ("pins and version locks", of_locks),
    ("what the transactions do", of_transactions),
    ("what they do to the driver", of_other_drivers),
    ("whether the module is in use", of_use),
    ("Secure Boot", of_secure_boot),
)


def refused_before(given: Given) -> tuple[Refusal, ...]:
    """Refusals of any change to this host, before questions are asked and choices are made."""
    return _once([_refusals_of(what, partial(look, given)) for what, look in _BEFORE])


def refused_after(given: Given, choices: Choices, portion: Portion) -> tuple[Refusal, ...]:
    """Refusals of this plan: space, a module in use, locks, Secure Boot, removals by a transaction. `portion` is the whole plan."""
    if all(step.probe.done(given.view) for step in portion.steps):
        return ()
    if given.offers.fault is not None:
        return tuple(of_fault(given, given.offers.fault))
    looks = [_refusals_of(what, partial(look, given, choices)) for what, look in _AFTER]
    return _once([*looks, _refusals_of("free space", partial(of_space, given, portion))])


def _refusals_of(what: str, look: Callable[[], Iterator[Refusal]]) -> list[Refusal]:
    """Refusals up to the first fact that could not be read, and one for that."""
    found: list[Refusal] = []
    try:
        found.extend(look())
    except UnreadError as error:
        found.append(unread(error.unread, what))
    return found


def _once(groups: list[list[Refusal]]) -> tuple[Refusal, ...]:
    """Without duplicates: several preconditions may need the same unread fact."""
    once: dict[tuple[str, str], Refusal] = {}
    for one in chain.from_iterable(groups):
        once.setdefault((one.id, one.message), one)
    return tuple(once.values())
