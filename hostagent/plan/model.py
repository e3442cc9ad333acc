"""The data types of a plan. A step consists of typed operations that a playbook carries out."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from hostagent.core.steps import Step
from hostagent.core.unread import UnreadError
from hostagent.core.vocabulary import Action, Extra, PlanPart, StepKind, UndoKind
from hostagent.plan.offers import Offers, Question
from hostagent.plan.view import View
from hostagent.profiles.profile import Profile

Part = PlanPart
#: What ``--only`` takes: the repositories serve both.
Asking = Literal["driver", "toolkit", "runtime"]


@dataclass(frozen=True)
class DockerAsked:
    """Request of ``setup`` for TAO's Docker backends: Docker's engine of the distribution, and the user that may use it."""

    install: bool = True  # False: Docker is not installed where it is missing
    configure: bool = True  # False: its configuration stays as it is
    package: str = ""  # replaces the distribution's name of it; "" for that name
    user: str = ""  # is added to the group docker; "" for no user


@dataclass(frozen=True)
class Renamed:
    """Package names that replace those of the tables, "" for the tables' own: the driver's meta package, its kernel module, CUDA's."""

    driver: str = ""
    module: str = ""
    cuda: str = ""


@dataclass(frozen=True)
class Asked:
    """Request of the command line, in addition to the profile."""

    only: tuple[Asking, ...] = ()  # () all three
    extras: tuple[Extra, ...] = ()
    upgrade: bool = False
    in_use: bool = False
    #: Ids of the steps of an unfinished run: it began them for reasons that the facts may no longer show.
    continued: tuple[str, ...] = ()
    #: Packages that were held before that run, which may have lifted the hold and not restored it.
    held: tuple[str, ...] = ()
    docker: DockerAsked | None = None  # None: Docker itself is not requested
    renamed: Renamed = Renamed()

    def asks(self, part: Asking) -> bool:
        return not self.only or part in self.only


class Given(NamedTuple):
    """All inputs of a plan."""

    view: View
    profile: Profile
    asked: Asked
    offers: Offers


@dataclass(frozen=True)
class Run:
    """A program of the target, by its name or path, as argv; inside the target's root."""

    argv: tuple[str, ...]
    timeout_s: float = 1800
    codes: tuple[int, ...] = (0,)  # exit codes that are no failure; () any
    where: str = ""  # a path of the target: without it there the program has nothing to do, and does not run


@dataclass(frozen=True)
class Write:
    """A whole text file, root's. `keys`: names of its settings; `content` is "" in a plan of a snapshot, which has no whole file."""

    path: str
    content: str
    mode: int = 0o644
    keys: tuple[str, ...] = ()  # what it sets, in words: for the plan of a snapshot, which has no text to change (`content` is "" then)


@dataclass(frozen=True)
class Key:
    """A keyring, root's, 0644: of a file of the machine that runs hostagent, or from `url` with its SHA-256 (hex).

    One in ASCII armour is written without it: apt reads a file called .gpg as binary.
    """

    path: str
    source: str = ""
    url: str = ""
    sha256: str = ""
    member: str = ""  # its path inside the .deb that `url` names; "" where `url` is the keyring itself


@dataclass(frozen=True)
class Remove:
    path: str


Operation = Run | Write | Key | Remove
#: By the key that names them in the document.
OPERATIONS = {"run": Run, "write": Write, "key": Key, "remove": Remove}


@dataclass(frozen=True)
class Undo:
    """How a rollback undoes a step: ``restore`` its files from their copies, ``packages`` by the one inverse transaction, ``marks`` and
    ``units`` to the recorded state, ``run`` these operations; ``none`` with the reason in `why`.
    """

    kind: UndoKind
    why: str = ""
    do: tuple[Operation, ...] = ()


@dataclass(frozen=True)
class Probe:
    """Whether a step has been done: a pure function of the facts, and its condition as text."""

    words: str  # completes "done when …": "/etc/apt/preferences.d/hostagent pins 580.178.04"
    holds: Callable[[View], bool] = field(compare=False, repr=False)

    def done(self, view: View) -> bool:
        """Whether it is done; False where a fact could not be read."""
        try:
            return self.holds(view)
        except UnreadError:
            return False


@dataclass(frozen=True)
class PlanStep:
    """One thing that the plan does. `id` starts with the part: ``driver.packages``."""

    id: str
    part: Part
    kind: StepKind
    title: str  # imperative, at most 80 characters
    why: str
    probe: Probe
    do: tuple[Operation, ...]
    undo: Undo
    checks: tuple[str, ...] = ()  # ids of checks that it makes pass
    restarts: tuple[str, ...] = ()  # units that it restarts


@dataclass(frozen=True)
class PlannedPackage:
    name: str
    part: Part
    before: str | None  # None: not installed
    after: str | None  # None: removed; "580.*" where nothing was resolved
    origin: str  # cuda, toolkit, distribution; "" of what is removed
    download_bytes: int | None = None  # None where that is not known


@dataclass(frozen=True)
class Refusal:
    """Why install changes nothing. `id` starts with ``plan.``; the other names are those of a finding."""

    id: str
    """The precondition that does not hold: stable, for programs."""
    message: str
    headline: str
    found: str
    wanted: str
    action: Action
    remedy: tuple[Step, ...]


@dataclass(frozen=True)
class Portion:
    """The part of the plan of one decider. Steps are in the order in which they are done."""

    steps: tuple[PlanStep, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    questions: tuple[Question, ...] = ()  # questions without an answer yet: the plan is not resolved
    packages: tuple[PlannedPackage, ...] = ()
    irreversible: tuple[str, ...] = ()  # sentences
    reboot: tuple[str, ...] = ()  # reasons, sentences; () where none is needed for this portion
    space: tuple[tuple[str, int], ...] = ()  # (path, bytes) needed


@dataclass(frozen=True)
class DriverChoice:
    """The choice of the driver. ``packages`` are (name, version as the package manager writes it; "" not resolved)."""

    wanted: bool  # False: it stays as it is, or is not ours; the rest then describes the installed one
    origin: Literal["cuda", "distribution"] = "cuda"
    flavour: Literal["open", "proprietary"] = "open"
    delivery: Literal["precompiled", "dkms"] = "dkms"
    branch: str = ""  # "580"
    version: str = ""  # as NVIDIA writes it; "" while it is not resolved
    kernels: tuple[str, ...] = ()  # releases that get a module
    before: tuple[tuple[str, str], ...] = ()  # transaction 1: headers and compiler
    packages: tuple[tuple[str, str], ...] = ()  # transaction 2: the same-version set, kernel module included
    removed: tuple[str, ...] = ()  # of other branches and flavours
    pinned: tuple[str, ...] = ()  # names or globs that the pin and the holds cover


@dataclass(frozen=True)
class ToolkitChoice:
    wanted: bool
    version: str = ""  # as NVIDIA writes it: 1.19.0
    packages: tuple[tuple[str, str], ...] = ()  # transaction 3: all four


@dataclass(frozen=True)
class CudaChoice:
    """The CUDA toolkit, a transaction of its own. ``packages`` as those of the others."""

    wanted: bool
    version: str = ""  # 13.0.2; the profile's own 13.0 while it is not resolved
    packages: tuple[tuple[str, str], ...] = ()
    constraint: str = ""  # what it has to meet
    paths: tuple[str, ...] = ()  # where it counts, in addition to the target of /usr/local/cuda


@dataclass(frozen=True)
class DockerChoice:
    """Docker's engine, a transaction of its own; `wanted` False where one is installed, or none is requested. A version is "": the package
    manager chooses it by its own pins.
    """

    wanted: bool
    packages: tuple[tuple[str, str], ...] = ()


class Choices(NamedTuple):
    driver: DriverChoice
    toolkit: ToolkitChoice
    cuda: CudaChoice = CudaChoice(wanted=False)
    docker: DockerChoice = DockerChoice(wanted=False)


def plain_operation(operation: Operation) -> dict[str, Any]:
    """The operation as in the document: one key names the kind."""
    from dataclasses import asdict

    return {type(operation).__name__.lower(): asdict(operation)}


@dataclass(frozen=True)
class FileDiff:
    """`diff` is unified, "" where the file's text was not read: then `keys` has the names of its settings."""

    path: str
    """Its path on the host."""
    diff: str = ""
    """A unified diff without secrets; empty where the file's text was not read."""
    keys: tuple[str, ...] = ()
    """Without a diff: the names of the settings."""


@dataclass(frozen=True)
class Reboot:
    needed: bool
    """Whether it is due."""
    why: tuple[str, ...] = ()
    """Its reasons."""


@dataclass(frozen=True)
class Plan:
    """Result of `hostagent.plan.build` for ``Given``; `hostagent.plan.document` makes the JSON."""

    view: View = field(repr=False, compare=False)
    profile: Profile = field(repr=False, compare=False)
    asked: Asked
    choices: Choices
    resolved: bool  # versions and transactions are the package manager's own answers, or nothing is to do
    refusals: tuple[Refusal, ...]
    steps: tuple[PlanStep, ...]  # in the order in which they are done, those that are done already included
    questions: tuple[Question, ...]  # that the package manager has to answer before this is whole; () when resolved, refused or simulated
    packages: tuple[PlannedPackage, ...]
    files: tuple[FileDiff, ...]
    reboot: Reboot
    irreversible: tuple[str, ...]
    space: tuple[tuple[str, int], ...]

    @property
    def todo(self) -> tuple[PlanStep, ...]:
        """The steps that this host still needs."""
        return tuple(step for step in self.steps if not step.probe.done(self.view))
