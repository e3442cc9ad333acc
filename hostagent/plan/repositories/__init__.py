"""Repositories, their keys, pins, refresh and download, for the packages of all parts."""

from hostagent.plan.model import Choices, Given, Key, Operation, Portion, Remove, Write
from hostagent.plan.repositories.database import repair_step
from hostagent.plan.repositories.fetching import fetch_steps
from hostagent.plan.repositories.pins import pin_steps
from hostagent.plan.repositories.places import NAMES, Name, Wanted, program, wanted
from hostagent.plan.repositories.sources import conflict_step, source_steps
from hostagent.plan.repositories.streams import stream_steps


def repository_steps(given: Given, choices: Choices) -> Portion:
    """Repair of an interrupted database first, then keys, repository files, pins, refresh, download. Raises ``UnreadError``."""
    manager = program(given)
    repair = repair_step(given, manager)
    if not any(one.wanted for one in choices):
        return Portion(steps=repair)
    ones = _wanted(given, choices)
    sources = [source_steps(given, one, manager) for one in ones]
    by_apt = manager == "apt-get"
    steps = (
        *repair,
        *(step for portion in sources for step in portion.steps if step.kind == "key"),
        *(step for portion in sources for step in portion.steps if step.kind == "file"),
        *(conflict_step(given, ones) if by_apt else ()),
        *(pin_steps(given, choices) if by_apt else stream_steps(given, choices) if manager == "dnf" else ()),
        *fetch_steps(given, choices, manager),
    )
    return Portion(steps=steps, refusals=tuple(one for portion in sources for one in portion.refusals))


def laid(given: Given, choices: Choices) -> tuple[Operation, ...]:
    """Keys, repository files and pins that must exist before the package manager is asked (``Key``, ``Write``)."""
    steps = repository_steps(given, choices).steps
    return tuple(
        operation
        for step in steps
        if step.kind in ("key", "file") and not step.probe.done(given.view)
        for operation in step.do
        if isinstance(operation, Key | Write | Remove)
    )


def _wanted(given: Given, choices: Choices) -> tuple[Wanted, ...]:
    """The repositories that this plan takes packages from."""
    needed: dict[Name, bool] = {
        "cuda": (choices.driver.wanted and choices.driver.origin == "cuda") or choices.cuda.wanted,
        "toolkit": choices.toolkit.wanted,
    }
    return tuple(wanted(given, name) for name in NAMES if needed[name])
