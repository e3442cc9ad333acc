"""What to do about what was found: steps, and how those of several causes become one list."""

from collections.abc import Iterable

from hostagent.facts.frozen import frozen
from hostagent.knowledge.ladder import ENDS_JOBS, TAKES_IN
from hostagent.vocabulary import ACTIONS, Action


@frozen
class Step:
    """One thing to do."""

    action: Action
    text: str
    command: str = ""  # what a shell runs as it stands, "" where there is none
    if_back: bool = False  # only if the fault comes back


def as_steps(remedy: "str | tuple[Step, ...]", action: Action) -> tuple[Step, ...]:
    """A remedy of one text is one step of `action`."""
    if isinstance(remedy, str):
        return (Step(action, remedy),) if remedy else ()
    return remedy


def in_words(steps: Iterable[Step]) -> str:
    """All steps as one text.

    >>> in_words([Step("reboot", "Reboot the node."), Step("replace", "Replace the GPU.", if_back=True)])
    'Reboot the node. If it comes back: Replace the GPU.'
    """
    return " ".join(f"If it comes back: {step.text}" if step.if_back else step.text for step in steps)


_DRAIN = Step("drain_and_inspect", "Drain the node.")


def to_do(remedies: Iterable[tuple[Step, ...]]) -> tuple[Step, ...]:
    """The steps of all remedies in the order in which they are done, equal ones once.

    Files and packages come before services, services before resets. A step that another one takes in is left out; before the first one
    that ends jobs the node is drained. What is for a fault that comes back stands last.
    """
    every = list(dict.fromkeys(step for steps in remedies for step in steps if step.action != "none"))
    now = [step for step in every if not step.if_back]
    taken_in = frozenset[Action]().union(*(TAKES_IN.get(step.action, frozenset()) for step in now))
    kept = sorted((step for step in now if step.action not in taken_in), key=lambda step: ACTIONS.index(step.action))
    first = next((place for place, step in enumerate(kept) if step.action in ENDS_JOBS), None)
    if first is not None and kept[first] != _DRAIN:
        kept.insert(first, _DRAIN)
    return (*kept, *(step for step in every if step.if_back))
