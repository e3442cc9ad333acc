"""Docker's engine of the distribution, and the group docker: only where ``Asked.docker`` requests it."""

# docker.io, docker, or moby-engine with moby-cli or docker-cli, whichever the repositories have. Any engine that is there stays
# (Docker's own, a snap's, one without a package). Red Hat's family has none: Docker's own packages where the host has that
# repository, else a refusal: a third party's key is an administrator's decision. Podman's `docker` is no engine. Not in a plan
# unless asked for.

from hostagent.core.unread import need
from hostagent.domains.runtime.tables.docker_packages import OWN_REPOSITORIES, STAND_INS, Groups, engine
from hostagent.plan.answers import moved_by, named, space_of
from hostagent.plan.docker.group import group_step, refused_user
from hostagent.plan.docker.refused import missing, no_engine, stand_in
from hostagent.plan.docker.units import is_masked, masked, units_step
from hostagent.plan.model import DockerChoice, Given, PlanStep, Portion, Probe, Run, Undo
from hostagent.plan.offers import Question
from hostagent.plan.repositories.fetching import installed
from hostagent.plan.transactions import commands
from hostagent.plan.view import View

_NONE = DockerChoice(wanted=False)


def choose_docker(given: Given) -> tuple[DockerChoice, Portion]:
    """The choice; none where an engine is installed, from any source. Raises ``UnreadError``."""
    asked = given.asked.docker
    if asked is None:
        return _NONE, Portion()
    if is_masked(given.view):
        return _NONE, Portion(refusals=(masked(),))
    refused = refused_user(given.view, asked.user)
    if not asked.install or has_engine(given.view):
        return _NONE, Portion(refusals=refused)
    other = _stand_in(given.view)
    os = need(given.view.os)
    groups: Groups = ((asked.package,),) if asked.package else engine(need(os.id))
    if other or not groups:
        return _NONE, Portion(refusals=(stand_in(given.view, other) if other else no_engine(given.view), *refused))
    question = Question("candidates", tuple(name for group in groups for name in group if name))
    if not given.offers.asked or not given.offers.has(question):
        names = tuple(group[0] for group in groups)
        return DockerChoice(True, tuple((name, "") for name in names)), Portion(questions=(question,), refusals=refused)
    found = tuple(_offered(given, group) for group in groups)
    lacking = tuple(group[0] for group, name in zip(groups, found, strict=True) if name is None)
    if lacking:
        is_elsewhere = not asked.package and need(os.id) in OWN_REPOSITORIES
        return _NONE, Portion(refusals=(no_engine(given.view) if is_elsewhere else missing(given.view, lacking), *refused))
    return DockerChoice(True, tuple((name, "") for name in found if name)), Portion(refusals=refused)


def docker_steps(given: Given, choice: DockerChoice) -> Portion:
    """``docker.packages``, ``docker.units`` and ``docker.group``. Raises ``UnreadError``."""
    asked = given.asked.docker
    if asked is None or not (choice.wanted or has_engine(given.view)):
        return Portion()
    after = (*units_step(given.view, choice), *group_step(given.view, asked.user))
    if not choice.wanted:
        return Portion(steps=after)
    argv = commands(given.view, given.profile.install.lock_timeout_s).install(choice.packages)
    question = Question("transaction", argv)
    moved = moved_by(given, argv, "docker")
    is_chosen = given.offers.asked
    return Portion(
        steps=(_packages_step(choice, argv), *after),
        questions=(question,) if is_chosen and moved is None and _is_chosen(given, choice) else (),
        packages=named(given, "docker", choice.packages, "distribution") if moved is None else moved,
        space=space_of(given.offers.transactions.get(argv)),
    )


def has_engine(view: View) -> bool:
    """Whether a Docker is installed: the distribution's, Docker's own, a snap's. Raises ``UnreadError``."""
    return any(one.kind == "docker" and need(one.installed) for one in need(view.runtimes))


def _stand_in(view: View) -> str:
    have = {one.name for one in need(need(view.installation).packages) if one.state == "installed"}
    return next((name for name in STAND_INS if name in have), "")


def _offered(given: Given, group: tuple[str, ...]) -> "str | None":
    """Its first name that the repositories have; "" where it may stay without one, None where it may not."""
    return next((name for name in group if not name or given.offers.candidates.get(name)), None)


def _is_chosen(given: Given, choice: DockerChoice) -> bool:
    return all(given.offers.candidates.get(name) for name, _ in choice.packages)


def _packages_step(choice: DockerChoice, argv: tuple[str, ...]) -> PlanStep:
    names = " and ".join(name for name, _ in choice.packages)
    return PlanStep(
        "docker.packages",
        "docker",
        "packages",
        f"Install Docker: {names}"[:80],
        "found no Docker on this host; its engine comes from the repositories that the host has",
        Probe(f"{names} are installed, and dockerd is there", lambda view: installed(view, choice.packages) and has_engine(view)),
        (Run(argv),),
        Undo("packages"),
    )
