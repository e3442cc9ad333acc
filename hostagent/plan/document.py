"""The document of ``hostagent plan``: printed, kept with a run, and applied by ``playbooks/apply.yaml``."""

# `-o FILE` is 0600, because the document holds whole files; `files[].diff` is for people and has no secrets (they are removed
# before the diff is made; a change of a secret alone is named by its settings). A reboot that is due is in the plan even where
# nothing is to do: exit 3 of every install until it happened.

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from hostagent.core.frozen import frozen
from hostagent.core.typed import plain
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Ending, Kind, StepKind, StepState, UndoKind, UnitChange
from hostagent.domains.driver.tables.packages import belongs
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES, driver_part
from hostagent.engine.report import HostIdentity, ProfileIdentity, Report, Security, Tool, head_of
from hostagent.facts.version import upstream
from hostagent.plan.model import FileDiff, Part, Plan, PlannedPackage, PlanStep, Reboot, Refusal, Run, Undo, plain_operation
from hostagent.plan.view import View

SCHEMA_VERSION = 1
#: Changes of a unit by systemctl, as the document names them; other verbs (daemon-reload) are none.
_CHANGES: Mapping[str, UnitChange] = {
    "enable": "enabled",
    "disable": "disabled",
    "start": "started",
    "stop": "stopped",
    "mask": "masked",
    "unmask": "unmasked",
}
#: Packages that are CUDA's and Docker's own; their dependencies have versions of their own.
_CUDA = re.compile(r"cuda(?:-toolkit)?(?:-[0-9]+)*")
_DOCKER = re.compile(r"docker|docker\.io|docker-ce|moby-engine")
#: Programs that change a unit, by the last part of their path.
_SYSTEMCTL = "systemctl"


@frozen
class UndoDocument:
    """How a rollback undoes a step."""

    kind: UndoKind
    """The method; none where it cannot be undone."""
    why: str
    """Why that method."""
    do: tuple[Any, ...]
    """Its own operations, where it needs some."""


@frozen
class StepDocument:
    """One step; `do` are operations, each with one key that names its kind."""

    id: str
    """The step: stable, for programs."""
    part: Part
    """The part that it changes."""
    kind: StepKind
    """The kind of change."""
    title: str
    """Its description, for people."""
    why: str
    """Why, for people."""
    state: StepState
    """Whether the host already has the state after this step."""
    probe: str
    """The condition for that: completes "done when"."""
    do: tuple[Any, ...]
    """Operations, one after the other. The one key of each names its kind."""
    undo: UndoDocument
    """How rollback undoes it."""
    checks: tuple[str, ...]
    """The checks that it makes pass."""
    restarts: tuple[str, ...]
    """The systemd units that it restarts."""


@dataclass(frozen=True)
class PackageDocument:
    """A package that changes; null is none."""

    name: str
    """Its name."""
    part: Part
    """The part that it belongs to."""
    before: str | None = field(metadata={"key": "from"})
    """The version that is installed; null where it is not."""
    after: str | None = field(metadata={"key": "to"})
    """The version that will be; null where it is removed. It ends in "*" where no repository was asked."""
    origin: str
    """cuda and toolkit are NVIDIA's repositories, distribution is the distribution's; empty of what is removed."""
    download_bytes: int | None
    """How much is downloaded; null where that is not known."""


@frozen
class ServiceDocument:
    unit: str
    """Its name, without .service."""
    change: UnitChange
    """The change of its state."""


@frozen
class SpaceDocument:
    path: str
    """On the file system that has this path."""
    needed_bytes: int
    """How much."""


@frozen
class StepResult:
    """A step that began; `problem` is empty where it went well."""

    id: str
    """The step, as in steps."""
    seconds: float
    """How long its operations took."""
    problem: str
    """Why it failed, for people; empty where it went well."""


@frozen
class ResultDocument:
    """How a run of the plan ended; `run` is null where none was begun."""

    outcome: Ending
    """How it ended, in one word."""
    exit: int
    """The exit code of hostagent."""
    run: int | None
    """The number of the run, which rollback undoes; null where none was begun."""
    message: str
    """The same for people, in one sentence; may be empty."""
    notes: tuple[str, ...]
    """Further notes, for people."""
    steps: tuple[StepResult, ...]
    """The steps that began, in the order in which they did."""


@dataclass(frozen=True)
class Document:
    """`Plan` as JSON. Fields that a report has, too, are as in the report."""

    schema_version: int
    tool: Tool
    observed_at: float
    observed_at_iso: str
    boot_id: str
    read_from: Kind
    replayed: bool
    simulated: bool
    host: HostIdentity
    profile: ProfileIdentity
    security: Security
    only: tuple[str, ...]
    """The parts that were asked for with --only; none is all of them."""
    extras: tuple[str, ...] = field(metadata={"key": "with"})
    """The parts that were asked for with --with."""
    upgrade: bool
    """Whether the newest version was asked for, even where what is installed satisfies the profile."""
    in_use: bool
    """Whether the driver may be installed beside one that is loaded and in use."""
    kernels: tuple[str, ...]
    """The kernels that get the driver's module."""
    resolved: bool
    """Whether versions and packages are what the repositories answered, or nothing is to do."""
    refusals: tuple[Refusal, ...]
    """Why install changes nothing on this host. Empty where it does."""
    steps: tuple[StepDocument, ...]
    """The steps to the wanted state, in the order in which they are done."""
    packages: tuple[PackageDocument, ...]
    """The packages that change, NVIDIA's first."""
    files: tuple[FileDiff, ...]
    """The files that are written or removed."""
    services: tuple[ServiceDocument, ...]
    """The systemd units whose state changes."""
    restarts: tuple[str, ...]
    """The systemd units that are restarted, without .service."""
    reboot: Reboot
    """Whether the host has to be rebooted afterwards; hostagent does not."""
    irreversible: tuple[str, ...]
    """Changes that rollback does not undo."""
    space: tuple[SpaceDocument, ...]
    """How much space must be free."""
    result: ResultDocument | None
    """The result of install; null for 'plan' and 'install --dry-run'."""

    @property
    def todo(self) -> tuple[StepDocument, ...]:
        """The steps that the host still needs."""
        return tuple(step for step in self.steps if step.state == "to-do")


def document(plan: Plan, report: Report) -> Document:
    """`report` is of the same pass: it has the head and the advisories."""
    todo = plan.todo
    services = tuple(dict.fromkeys(_services(todo)))
    restarts = _restarted(todo, services)
    return Document(
        schema_version=SCHEMA_VERSION,
        **head_of(report),
        security=report.security,
        only=plan.asked.only,
        extras=plan.asked.extras,
        upgrade=plan.asked.upgrade,
        in_use=plan.asked.in_use,
        kernels=plan.choices.driver.kernels,
        resolved=plan.resolved,
        refusals=plan.refusals,
        steps=tuple(_step(step, is_todo=step in todo) for step in plan.steps),
        packages=tuple(map(_package, sorted(plan.packages, key=lambda one: not _is_nvidias(one)))),
        files=plan.files,
        services=tuple(one for one in _changed(services, restarts) if one.change != "stopped" or _may_run(plan.view, one.unit)),
        restarts=restarts,
        reboot=plan.reboot,
        irreversible=plan.irreversible,
        space=tuple(SpaceDocument(path, needed) for path, needed in plan.space),
        result=None,
    )


def version_of(part: str, changes: "Iterable[tuple[str, str | None]]") -> str:
    """The version of a part after the plan, by its packages as (name, version): that of most of its own, "" where there are none.

    >>> several = [("gcc-14", "14.2.0-19"), ("cpp-14", "14.2.0-19"), ("libcuda1", "590.48.01-1"), ("dkms", None)]
    >>> version_of("driver", several), version_of("driver", several[:2])
    ('590.48.01-1', '')
    """
    coming = [(name.partition(":")[0], version) for name, version in changes if version]
    got = [version for name, version in coming if _is_own(part, name, version)]
    if not got and part in ("cuda", "docker"):  # a request of setup may name other packages
        got = [version for _, version in coming]
    return max(sorted(set(got)), key=got.count) if got else ""


def _is_own(part: str, name: str, version: str) -> bool:
    """Whether a package belongs to the part itself, and is not only a dependency."""
    if part == "toolkit":
        return name in TOOLKIT_PACKAGES
    if part in ("cuda", "docker"):
        return (_CUDA if part == "cuda" else _DOCKER).fullmatch(name) is not None
    if version.endswith("*"):  # the repositories were not asked
        return bool(driver_part(name))
    plain = upstream(version)
    return not isinstance(plain, Unread) and belongs(name, plain)


def _is_nvidias(one: PlannedPackage) -> bool:
    """Whether it is NVIDIA's: a list that is cut must show these."""
    name, version = one.name.partition(":")[0], one.after or one.before or ""
    return one.origin in ("cuda", "toolkit") or "nvidia" in name or any(_is_own(part, name, version) for part in ("driver", "toolkit"))


def _step(step: PlanStep, *, is_todo: bool) -> StepDocument:
    return StepDocument(
        id=step.id,
        part=step.part,
        kind=step.kind,
        title=step.title,
        why=step.why,
        state="to-do" if is_todo else "done",
        probe=step.probe.words,
        do=tuple(plain(plain_operation(one)) for one in step.do),
        undo=_undo(step.undo),
        checks=step.checks,
        restarts=step.restarts,
    )


def _undo(undo: Undo) -> UndoDocument:
    return UndoDocument(undo.kind, undo.why, tuple(plain(plain_operation(one)) for one in undo.do))


def _package(one: PlannedPackage) -> PackageDocument:
    return PackageDocument(one.name, one.part, one.before, one.after, one.origin, one.download_bytes)


def _restarted(steps: Iterable[PlanStep], services: tuple[ServiceDocument, ...]) -> tuple[str, ...]:
    """Units that steps declare as restarted, and those that are stopped and started."""
    stopped, started = ([one.unit for one in services if one.change == change] for change in ("stopped", "started"))
    again = (unit for unit in started if unit in stopped)
    return tuple(dict.fromkeys((*(_unit(unit) for step in steps for unit in step.restarts), *again)))


def _changed(services: tuple[ServiceDocument, ...], restarts: tuple[str, ...]) -> tuple[ServiceDocument, ...]:
    return tuple(one for one in services if not (one.change in ("stopped", "started") and one.unit in restarts))


def _may_run(view: View, name: str) -> bool:
    """Whether stopping the unit changes anything: not where the facts show that it does not exist or run."""
    unit = view.services if isinstance(view.services, Unread) else view.services.unit(name)
    return isinstance(unit, Unread) or (unit.exists and (isinstance(unit.active, Unread) or unit.active))


def _unit(name: str) -> str:
    """Its name as in reports: with a suffix only where it is no service."""
    return name.removesuffix(".service")


def _services(steps: Iterable[PlanStep]) -> Iterator[ServiceDocument]:
    """Units of the steps' own commands: ``systemctl enable --now a.service b.service``."""
    for argv in (one.argv for step in steps for one in step.do if isinstance(one, Run)):
        if argv[0].rpartition("/")[2] != _SYSTEMCTL:
            continue
        verb, *units = [word for word in argv[1:] if not word.startswith("-")] or [""]
        for unit in units if verb in _CHANGES else ():
            yield ServiceDocument(_unit(unit), _CHANGES[verb])
            if "--now" in argv and verb in {"enable", "disable"}:
                yield ServiceDocument(_unit(unit), "started" if verb == "enable" else "stopped")
