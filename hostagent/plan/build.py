"""Builds a plan from facts, offers and a profile: runs the deciders, one after the other."""

# What forbids any change ends the plan first, with nothing chosen or asked; else driver, toolkit, the steps of each part, then
# what forbids this plan. A decider that lets an UnreadError out is refused (plan.unread). Deciders are a parameter, so that tests
# need no patch.

from collections.abc import Callable, Iterable
from itertools import chain
from typing import NamedTuple, TypeVar

from hostagent.core.unread import UnreadError
from hostagent.plan.cuda import choose_cuda, cuda_steps
from hostagent.plan.docker import choose_docker, docker_steps
from hostagent.plan.driver import choose, driver_steps
from hostagent.plan.files import changed_files
from hostagent.plan.model import (
    Choices,
    CudaChoice,
    DockerChoice,
    DriverChoice,
    Given,
    Plan,
    PlannedPackage,
    PlanStep,
    Portion,
    Reboot,
    Refusal,
    ToolkitChoice,
)
from hostagent.plan.preconditions import refused_after, refused_before
from hostagent.plan.refusals.words import unread
from hostagent.plan.repositories import repository_steps
from hostagent.plan.runtime import runtime_steps
from hostagent.plan.toolkit import choose_toolkit, toolkit_steps

T = TypeVar("T")
_NOTHING = Choices(DriverChoice(wanted=False), ToolkitChoice(wanted=False))


class Deciders(NamedTuple):
    """The functions that decide, in the order in which they run."""

    refused_before: Callable[[Given], tuple[Refusal, ...]] = refused_before
    choose_driver: Callable[[Given], tuple[DriverChoice, Portion]] = choose
    choose_toolkit: Callable[[Given], tuple[ToolkitChoice, Portion]] = choose_toolkit
    choose_cuda: Callable[[Given], tuple[CudaChoice, Portion]] = choose_cuda
    choose_docker: Callable[[Given], tuple[DockerChoice, Portion]] = choose_docker
    repository_steps: Callable[[Given, Choices], Portion] = repository_steps
    driver_steps: Callable[[Given, DriverChoice], Portion] = driver_steps
    toolkit_steps: Callable[[Given, ToolkitChoice], Portion] = toolkit_steps
    cuda_steps: Callable[[Given, CudaChoice], Portion] = cuda_steps
    docker_steps: Callable[[Given, DockerChoice], Portion] = docker_steps
    runtime_steps: Callable[[Given, Choices], Portion] = runtime_steps
    refused_after: Callable[[Given, Choices, Portion], tuple[Refusal, ...]] = refused_after


OURS = Deciders()


def make(given: Given, deciders: Deciders = OURS) -> Plan:
    """The plan. Call it again with the answers to `Plan.questions` until there are none."""
    before = joined(*_guarded(lambda: Portion(refusals=deciders.refused_before(given)), Portion()))
    if before.refusals:
        return _plan(given, _NOTHING, before)
    choices, chosen = _chosen(given, deciders)
    made = joined(chosen, *_steps(given, choices, deciders))
    after = _guarded(lambda: Portion(refusals=deciders.refused_after(given, choices, made)), Portion())
    return _plan(given, choices, joined(made, *after))


def joined(*portions: Portion) -> Portion:
    """All portions as one, without duplicates; space at one path adds up."""
    space: dict[str, int] = {}
    for path, needed in chain.from_iterable(one.space for one in portions):
        space[path] = space.get(path, 0) + needed
    return Portion(
        steps=_distinct(one.steps for one in portions),
        refusals=_distinct(one.refusals for one in portions),
        questions=_distinct(one.questions for one in portions),
        packages=_distinct(one.packages for one in portions),
        irreversible=_distinct(one.irreversible for one in portions),
        reboot=_distinct(one.reboot for one in portions),
        space=tuple(space.items()),
    )


def _distinct(several: Iterable[tuple[T, ...]]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(several)))


def _chosen(given: Given, deciders: Deciders) -> tuple[Choices, Portion]:
    """The choices; a part that is not requested stays as it is."""
    driver, toolkit, cuda, docker = _NOTHING
    portions = []
    if given.asked.asks("driver"):
        (driver, portion), unread = _guarded(lambda: deciders.choose_driver(given), (driver, Portion()))
        portions += [portion, unread]
    if given.asked.asks("toolkit"):
        (toolkit, portion), unread = _guarded(lambda: deciders.choose_toolkit(given), (toolkit, Portion()))
        portions += [portion, unread]
    if not given.asked.only:
        (cuda, portion), unread = _guarded(lambda: deciders.choose_cuda(given), (cuda, Portion()))
        portions += [portion, unread]
        (docker, portion), unread = _guarded(lambda: deciders.choose_docker(given), (docker, Portion()))
        portions += [portion, unread]
    return Choices(driver, toolkit, cuda, docker), joined(*portions)


def _steps(given: Given, choices: Choices, deciders: Deciders) -> list[Portion]:
    """The steps in the order in which they are done."""
    parts: list[Callable[[], Portion]] = [lambda: deciders.repository_steps(given, choices)]
    if given.asked.asks("driver"):
        parts.append(lambda: deciders.driver_steps(given, choices.driver))
    if given.asked.asks("toolkit"):
        parts.append(lambda: deciders.toolkit_steps(given, choices.toolkit))
    if not given.asked.only:
        parts += [lambda: deciders.cuda_steps(given, choices.cuda), lambda: deciders.docker_steps(given, choices.docker)]
    if given.asked.asks("runtime"):
        parts.append(lambda: deciders.runtime_steps(given, choices))
    return [portion for decide in parts for portion in _guarded(decide, Portion())]


def _guarded(decide: Callable[[], T], otherwise: T) -> tuple[T, Portion]:
    """The result of a decider; a refusal where it needs an unread fact."""
    try:
        return decide(), Portion()
    except UnreadError as error:
        return otherwise, Portion(refusals=(unread(error.unread, "what the plan depends on"),))


def _plan(given: Given, choices: Choices, all_of_it: Portion) -> Plan:
    todo = tuple(step for step in all_of_it.steps if not step.probe.done(given.view))
    refused = bool(all_of_it.refusals)
    questions = all_of_it.questions if todo and not refused else ()
    return Plan(
        view=given.view,
        profile=given.profile,
        asked=given.asked,
        choices=choices,
        resolved=not refused and (not todo or (given.offers.asked and not questions)),
        refusals=all_of_it.refusals,
        steps=all_of_it.steps,
        questions=questions,
        packages=_moved(all_of_it.packages) if todo else (),
        files=changed_files(given.view, todo),
        reboot=Reboot(bool(all_of_it.reboot), all_of_it.reboot),
        irreversible=_irreversible(all_of_it, todo),
        space=all_of_it.space if todo else (),
    )


def _moved(packages: tuple[PlannedPackage, ...]) -> tuple[PlannedPackage, ...]:
    return tuple(one for one in packages if one.before != one.after)


def _irreversible(portion: Portion, todo: tuple[PlanStep, ...]) -> tuple[str, ...]:
    """Changes without undo; fetching steps change nothing to undo."""
    lasting = (step for step in todo if step.undo.kind == "none" and step.kind not in ("refresh", "download"))
    reasons = tuple(f"{step.title}: {step.undo.why}" for step in lasting if step.undo.why)
    return _distinct((portion.irreversible, reasons)) if todo else ()
