"""The CUDA toolkit: a compiler and libraries for programs of the host, which containers do not need."""

import re

from hostagent.core.unread import Unread
from hostagent.facts.version import satisfies, upstream, wish
from hostagent.plan.answers import moved_by, named, space_of
from hostagent.plan.cudafound import found_version, is_there, transaction
from hostagent.plan.model import CudaChoice, Given, PlannedPackage, PlanStep, Portion, Probe, Refusal, Run, Undo
from hostagent.plan.offers import Question
from hostagent.plan.refusals.words import profile_step, refusal
from hostagent.plan.repositories.fetching import installed
from hostagent.plan.transactions import commands

_FOLDER = "/usr/local/cuda-"
#: The version in the name of a package: cuda-toolkit-13-0.
_IN_NAME = re.compile(r"-(\d+)-(\d+)$")


def choose_cuda(given: Given) -> tuple[CudaChoice, Portion]:
    """``cuda.install`` of the profile, where no toolkit satisfies ``cuda.toolkit``. Raises ``UnreadError``."""
    policy = given.profile.cuda
    if not policy.install:
        return CudaChoice(wanted=False), Portion()
    name, paths = _name(given), _paths(given)
    found = found_version(given.view, policy.toolkit, paths)
    if found:
        return CudaChoice(False, found, (), policy.toolkit, paths), Portion()
    question = Question("candidates", (name,))
    if not given.offers.asked or not given.offers.has(question):
        written = wish(policy.install).prefix
        open_ = CudaChoice(True, written, ((name, f"{written}.*"),), policy.toolkit, paths)
        return open_, Portion(questions=(question,))
    written = next((one.version for one in given.offers.candidates[name] if _fits(given, one.version)), "")
    if not written:
        return CudaChoice(wanted=False), Portion(refusals=(_missing(given, name),))
    return CudaChoice(True, _plain(written), ((name, written),), policy.toolkit, paths), Portion()


def cuda_steps(given: Given, choice: CudaChoice) -> Portion:
    """One transaction: ``cuda.packages``. Raises ``UnreadError``."""
    if not choice.wanted:
        return Portion()
    argv = _argv(given, choice)
    is_open = any(version.endswith("*") for _, version in choice.packages)
    question = Question("transaction", argv)
    return Portion(
        steps=(_step(given, choice, argv),),
        questions=() if is_open or given.offers.has(question) else (question,),
        packages=_planned(given, choice, argv),
        space=space_of(given.offers.transactions.get(argv)),
    )


def _name(given: Given) -> str:
    """The package of one minor version; toolkits of other ones may stay installed."""
    fields = wish(given.profile.cuda.install).prefix.split(".")[:2]
    return given.asked.renamed.cuda or f"cuda-toolkit-{'-'.join(fields)}"


def _paths(given: Given) -> tuple[str, ...]:
    """The folders of the wanted version, and of the version in the package's name."""
    minor = ".".join(wish(given.profile.cuda.install).prefix.split(".")[:2])
    version = _IN_NAME.search(given.asked.renamed.cuda)
    return tuple(dict.fromkeys((f"{_FOLDER}{minor}", *((f"{_FOLDER}{version[1]}.{version[2]}",) if version else ()))))


def _plain(written: str) -> str:
    version = upstream(written)
    return written if isinstance(version, Unread) else version


def _fits(given: Given, written: str) -> bool:
    """Whether a package's version is wanted: by ``cuda.install`` with its own name, by ``cuda.toolkit`` with a requested name."""
    policy, version = given.profile.cuda, upstream(written)
    if isinstance(version, Unread) or not satisfies(version, policy.toolkit):
        return False
    if given.asked.renamed.cuda:
        return True
    return wish(policy.install).names(version)


def _argv(given: Given, choice: CudaChoice) -> tuple[str, ...]:
    command = commands(given.view, given.profile.install.lock_timeout_s)
    return transaction(command, choice, given.view, installed=installed(given.view, choice.packages))


def _step(given: Given, choice: CudaChoice, argv: tuple[str, ...]) -> PlanStep:
    wanted = given.profile.cuda.toolkit or "one"
    where = " or ".join((*choice.paths, "/usr/local/cuda"))
    return PlanStep(
        "cuda.packages",
        "cuda",
        "packages",
        f"Install the CUDA toolkit {choice.version}",
        f"programs of the host are built with it; found none at {where} that is {wanted}",
        Probe(f"{where} is a CUDA toolkit {wanted} with its compiler", lambda view: is_there(view, choice)),
        (Run(argv),),
        Undo("packages"),
        ("driver.cuda_toolkit",),
    )


def _planned(given: Given, choice: CudaChoice, argv: tuple[str, ...]) -> tuple[PlannedPackage, ...]:
    found = moved_by(given, argv, "cuda")
    return named(given, "cuda", choice.packages, "cuda") if found is None else found


def _missing(given: Given, name: str) -> Refusal:
    policy = given.profile.cuda
    offered = tuple(dict.fromkeys(_plain(one.version) for one in given.offers.candidates[name]))
    found = f"{name} {', '.join(offered[:5])} in the repositories" if offered else f"no {name} in the repositories"
    wanted = f"{name} {policy.toolkit or policy.install}"
    return refusal(
        "cuda-missing",
        "The repositories do not offer the CUDA toolkit that is wanted",
        f"{found} in the repositories",
        wanted,
        profile_step("Name a version that is offered in cuda.install of the profile."),
        profile_step("Or name a repository that has it in install.repositories.cuda.url of the profile."),
    )
