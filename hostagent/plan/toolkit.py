"""The NVIDIA Container Toolkit: four packages at one version."""

# It stays where all packages of it (of CDI alone the base package) have one version that `toolkit.version` takes, and where
# programs without packages do (Docker's snap). Some of the four: their own version is completed, if the profile takes it.

from hostagent.core.tables.platforms import HOSTS_OWN
from hostagent.core.unread import need
from hostagent.domains.packages.commands import moves
from hostagent.domains.packages.tables.names import TOOLKIT_BASE, TOOLKIT_PACKAGES, driver_part
from hostagent.domains.runtime.access import reached_without
from hostagent.facts.packages import Package
from hostagent.facts.version import Wish, compare_deb, compare_upstream, satisfies, upstream, wish
from hostagent.plan.answers import space_of
from hostagent.plan.model import Given, PlannedPackage, PlanStep, Portion, Probe, Refusal, Run, ToolkitChoice, Undo
from hostagent.plan.offers import Question
from hostagent.plan.refusals.words import profile_step, refusal
from hostagent.plan.repositories.fetching import installed
from hostagent.plan.repositories.places import PIN_TOOLKIT
from hostagent.plan.toolkitprograms import has_programs, transaction
from hostagent.plan.toolkitunits import unit_steps
from hostagent.plan.transactions import commands
from hostagent.plan.view import View

_NAMES = tuple(sorted(TOOLKIT_PACKAGES))
_CANDIDATES = Question("candidates", _NAMES)


def choose_toolkit(given: Given) -> tuple[ToolkitChoice, Portion]:
    """What this host needs, and what of that is refused or still has to be asked. Raises ``UnreadError``."""
    if not is_hosts(given):
        return ToolkitChoice(wanted=False), Portion()
    found = need(need(given.view.toolkit).packages)
    stays = _stays(given, found)
    if stays and not (found and _may_move(given, stays)):
        return _kept(given, stays, found), Portion()
    target = _target(given, found)
    if not target.prefix:
        return ToolkitChoice(wanted=False), Portion(refusals=(_unnamed(found),))
    if not given.offers.asked or not given.offers.has(_CANDIDATES):
        return _unresolved(target), Portion(questions=(_CANDIDATES,))
    newest = _newest(given, target)
    if stays and target.names(stays) and (not newest or compare_upstream(_version(newest), stays) <= 0):
        return _kept(given, stays, found), Portion()
    if not newest:
        return ToolkitChoice(wanted=False), Portion(refusals=(_missing(given, target),))
    return ToolkitChoice(True, _version(newest), tuple((name, newest) for name in _NAMES)), Portion()


def _kept(given: Given, version: str, found: tuple[Package, ...]) -> ToolkitChoice:
    """What is installed."""
    return ToolkitChoice(not _is_held(given), version, tuple((one.name, one.version) for one in found))


def _unresolved(target: Wish) -> ToolkitChoice:
    """Before the repositories are asked."""
    version, written = (f"{target.prefix}.*",) * 2 if target.is_open else (target.prefix, f"{target.prefix}-*")
    return ToolkitChoice(True, version, tuple((name, written) for name in _NAMES))


def is_hosts(given: Given) -> bool:
    """Whether the packages of this host are the plan's to change. Raises ``UnreadError``."""
    policy, view = given.profile.toolkit, given.view
    if policy.owner not in HOSTS_OWN or policy.required == "never":
        return False
    if given.profile.runtime.kind == "none" and policy.required != "always":
        return False
    toolkit = need(view.toolkit)
    if need(toolkit.packages):
        return True
    if policy.owner == "any" and need(toolkit.operator_version):
        return False
    kind = given.profile.runtime.kind
    return policy.required == "always" or not reached_without(kind, need(view.runtimes), need(view.launchers), need(view.cdi), toolkit)


def toolkit_steps(given: Given, choice: ToolkitChoice) -> Portion:
    """Packages, hold, the units that refresh CDI specifications. Raises ``UnreadError``."""
    if not choice.version:
        return Portion()
    units = unit_steps(given, choice)
    if not choice.wanted:
        return Portion(steps=units)
    question = Question("transaction", _argv(given, choice))
    is_open = _is_resolved(choice) and not _is_there(given.view, choice) and not given.offers.has(question)
    return Portion(
        steps=(_packages_step(given, choice), *_hold_step(given, choice), *units),
        questions=(question,) if is_open else (),
        packages=_planned(given, choice),
        space=space_of(given.offers.transactions.get(question.words)) if not _is_there(given.view, choice) else (),
    )


def _is_there(view: View, choice: ToolkitChoice) -> bool:
    """Raises ``UnreadError``."""
    return installed(view, choice.packages) and has_programs(view)


def _stays(given: Given, found: tuple[Package, ...]) -> str:
    """The version that is installed and satisfies the profile, "" where something has to change."""
    if not found:
        return _unpackaged(given)
    versions = {need(one.upstream) for one in found if one.state == "installed"}
    version = next(iter(versions), "")
    if len(versions) != 1 or not satisfies(version, given.profile.toolkit.version) or any(one.state != "installed" for one in found):
        return ""
    there = {one.name for one in found}
    base_alone = given.profile.runtime.access == "cdi" and TOOLKIT_BASE in there
    if (not base_alone and not there.issuperset(_NAMES)) or not has_programs(given.view):
        return ""
    return version


def _may_move(given: Given, version: str) -> bool:
    """Whether ``--upgrade`` may find a newer one that the profile names."""
    target = wish(given.profile.toolkit.install)
    if not given.asked.upgrade or not target.prefix:
        return False
    return compare_upstream(version, target.prefix) < 0 or (target.is_open and target.names(version))


def _unpackaged(given: Given) -> str:
    """The version of programs that no package brings, such as those of Docker's snap; "" where they are not what the profile asks for."""
    toolkit = need(given.view.toolkit)
    version = need(toolkit.version) if need(toolkit.binaries) else ""
    return version if version and satisfies(version, given.profile.toolkit.version) else ""


def _target(given: Given, found: tuple[Package, ...]) -> Wish:
    """What to install: the version of the packages that are there where only some of the four are, and the profile takes it."""
    versions = {need(one.upstream) for one in found}
    version = next(iter(versions), "")
    is_kept = len(versions) == 1 and satisfies(version, given.profile.toolkit.version) and not given.asked.upgrade
    return wish(version if is_kept else given.profile.toolkit.install)


def _newest(given: Given, target: Wish) -> str:
    """The newest that all four packages have, as the package manager writes it; "" where there is none."""
    offered = [{one.version for one in given.offers.candidates[name]} for name in _NAMES]
    common = [one for one in set.intersection(*offered) if _is_meant(given, one, target)]
    newest = next(iter(common), "")
    for one in common:
        newest = one if compare_deb(one, newest) > 0 else newest
    return newest


def _is_meant(given: Given, written: str, target: Wish) -> bool:
    """Whether the profile names a package's version to be installed, and accepts it: 1.19.0-1 is 1.19.0, and of the branch 1.19."""
    version = _version(written)
    return target.names(version) and satisfies(version, given.profile.toolkit.version)


def _version(written: str) -> str:
    return str(need(upstream(written)))


def _is_resolved(choice: ToolkitChoice) -> bool:
    return all(version and not version.endswith("*") for _, version in choice.packages)


def _argv(given: Given, choice: ToolkitChoice) -> tuple[str, ...]:
    command = commands(given.view, given.profile.install.lock_timeout_s)
    return transaction(command, choice, given.view, installed=installed(given.view, choice.packages))


def _packages_step(given: Given, choice: ToolkitChoice) -> PlanStep:
    return PlanStep(
        "toolkit.packages",
        "toolkit",
        "packages",
        f"Install the NVIDIA Container Toolkit {choice.version}",
        "containers get GPUs by its programs; all four packages have one version",
        Probe(f"all packages of the toolkit are {choice.version}, and its programs there", lambda view: _is_there(view, choice)),
        (Run(_argv(given, choice)),),
        Undo("packages"),
        ("toolkit.installed", "toolkit.version", "toolkit.packages_equal", "toolkit.binary", "toolkit.known_vulnerability"),
    )


def _hold_step(given: Given, choice: ToolkitChoice) -> tuple[PlanStep, ...]:
    hold = given.profile.install.hold
    names = tuple(sorted({*(name for name, _ in choice.packages if hold), *_lifted(given, choice)}))
    argv = commands(given.view, given.profile.install.lock_timeout_s).hold(names)
    if not names or not argv:
        return ()
    return (
        PlanStep(
            "toolkit.hold",
            "toolkit",
            "hold",
            "Hold the toolkit's packages at their version",
            "an automatic upgrade would change it under running jobs" if hold else "they were held before",
            Probe(
                f"the toolkit's packages are held at {choice.version}",
                lambda view: installed(view, choice.packages) and _held(view, names),
            ),
            (Run(argv),),
            Undo("marks"),
            ("toolkit.held",),
        ),
    )


def _lifted(given: Given, choice: ToolkitChoice) -> set[str]:
    """What is held, or was before a run that did not end, and the transaction moves: that lifts the hold. Raises ``UnreadError``."""
    answer = given.offers.transactions.get(_argv(given, choice))
    moved = {one.name.partition(":")[0] for one in answer.moved if one.after} if answer else set[str]()
    held = {one.name for one in need(need(given.view.installation).packages) if one.held}
    return held & (moved | {name for name, _ in choice.packages}) | _held_before(given)


def _held_before(given: Given) -> set[str]:
    """A run that did not end: what is still there of what was held before it, without the driver's. Raises ``UnreadError``."""
    have = {one.name for one in need(need(given.view.installation).packages) if one.state == "installed"}
    return {name for name in given.asked.held if name in have and not driver_part(name)}


def _held(view: View, names: tuple[str, ...]) -> bool:
    """By the package manager's own hold."""
    held = {one.name for one in need(need(view.installation).packages) if one.held}
    return held.issuperset(names)


def _is_held(given: Given) -> bool:
    """Whether nothing has to be done for it: held, or neither held nor upgraded by itself. What our own pin alone keeps is what a run left
    that did not end. Raises ``UnreadError``.
    """
    found = need(need(given.view.toolkit).packages)
    packages = need(given.view.packages)
    if not _held(given.view, tuple(_held_before(given))):
        return False
    if not given.profile.install.hold or _held(given.view, tuple(one.name for one in found)):
        return True
    if "toolkit.hold" in given.asked.continued or any(one.file == PIN_TOOLKIT for one in need(packages.locks)):
        return False
    held = {one.held for one in found}
    return held == {True} or (held == {False} and not any(moves(packages, one) for one in found))


def _planned(given: Given, choice: ToolkitChoice) -> tuple[PlannedPackage, ...]:
    before = {one.name: one.version for one in need(need(given.view.toolkit).packages)}
    moved = given.offers.transactions.get(_argv(given, choice))
    return tuple(
        PlannedPackage(name, "toolkit", before.get(name), version, "toolkit")
        for name, version in choice.packages
        if before.get(name) != version and (moved is None or not moved.error)
    )


def _unnamed(found: tuple[Package, ...]) -> Refusal:
    versions = ", ".join(dict.fromkeys(one.version for one in found))
    step = profile_step("Name a version in toolkit.install of the profile.")
    there = f"toolkit {versions}" if versions else "no toolkit"
    return refusal("toolkit-unnamed", "The profile names no toolkit to install", there, "a version in toolkit.install", step)


def _missing(given: Given, target: Wish) -> Refusal:
    """Of which packages, and what there is of those."""
    offered = {name: tuple(dict.fromkeys(one.version for one in given.offers.candidates[name])) for name in _NAMES}
    lacking = [name for name in _NAMES if not any(_is_meant(given, one, target) for one in offered[name])]
    which = ", ".join(lacking) if len(lacking) < len(_NAMES) else "the toolkit"
    found = ", ".join([*dict.fromkeys(one for name in lacking for one in offered[name])][:5]) or "none"
    constraint = given.profile.toolkit.version
    is_said = constraint in ("", target.constraint) or not target.is_open
    return refusal(
        "toolkit-missing",
        "The repositories do not offer the toolkit that the profile names",
        f"{found} of {which}" if lacking else "no revision that all four packages have",
        target.text if is_said else f"{target.text} that meets {constraint}",
        profile_step("Name a version that is offered in toolkit.install of the profile."),
        profile_step("Or name a repository that has it in install.repositories.toolkit.url of the profile."),
    )
