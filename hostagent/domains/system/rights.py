"""Refusals that are no sign of a fault: this run lacks a right, and is known to have few."""

from hostagent.core.unread import Unread
from hostagent.facts.host import Identity


def is_expected(gap: Unread, identity: "Identity | Unread", *, unprivileged: bool) -> bool:
    """Whether an ordinary user, or an agent that by its profile has no privileges, was refused.

    Root can read what is read here: there the lost answer may be the one that shows the fault.
    """
    as_root = identity if isinstance(identity, Unread) else identity.as_root
    return gap.why == "denied" and (unprivileged or (not isinstance(as_root, Unread) and not as_root))
