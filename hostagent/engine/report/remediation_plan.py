"""Merges the steps of several causes into one list."""

# Equal steps are one, by the order of the actions (files and packages, services, resets); a larger recovery takes in the smaller,
# one reboot does for all, one drain before the first step that ends jobs; what is for a fault that comes back is last. On an
# image nothing is restarted or rebooted.

from collections.abc import Iterable

from hostagent.core.steps import Step
from hostagent.core.tables.recovery_actions import ENDS_JOBS, TAKES_IN
from hostagent.core.vocabulary import ACTIONS, Action

DRAIN = Step("drain_and_inspect", "Drain the node.")


def to_do(remedies: Iterable[tuple[Step, ...]], *, is_image: bool = False) -> tuple[Step, ...]:
    """The steps of all remedies in the order in which they are done, equal ones once.

    Files and packages come before services, services before resets. A step that another one takes in is left out; before the first one
    that ends jobs the node is drained. Steps for a fault that comes back are last. An image has no services to restart.
    """
    every = list(dict.fromkeys(step for steps in remedies for step in steps if step.action != "none"))
    if is_image:
        every = [step for step in every if step.action not in ENDS_JOBS | {"restart_service"}]
    now = [step for step in every if not step.if_back]
    taken_in = frozenset[Action]().union(*(TAKES_IN.get(step.action, frozenset()) for step in now))
    kept = sorted(_once(step for step in now if step.action not in taken_in), key=lambda step: ACTIONS.index(step.action))
    first = next((place for place, step in enumerate(kept) if step.action in ENDS_JOBS), None)
    if first is not None and kept[first] != DRAIN:
        kept.insert(first, DRAIN)
    return (*kept, *(step for step in every if step.if_back))


def _once(steps: Iterable[Step]) -> list[Step]:
    """Merges all reboots into one, with the text of the first."""
    whole: dict[object, Step] = {}
    for step in steps:
        whole.setdefault(step.action if step.action in ("reboot", "power_cycle") else step, step)
    return list(whole.values())
