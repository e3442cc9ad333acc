"""Refusals of plans that would have to install Docker."""

from hostagent.core.steps import Step, shell
from hostagent.core.unread import Unread
from hostagent.domains.packages.commands import purge
from hostagent.domains.runtime.tables.docker_packages import OWN_REPOSITORIES
from hostagent.plan.model import Refusal
from hostagent.plan.refusals.words import refusal
from hostagent.plan.view import View

_AGAIN = Step("rerun", "Run it again.")


def no_engine(view: View) -> Refusal:
    """Docker's own repository is not part of the distribution: the administrator decides whether to trust its key."""
    url = "" if isinstance(view.os, Unread) or isinstance(view.os.id, Unread) else OWN_REPOSITORIES.get(view.os.id, "")
    steps = (
        Step("install", "Add Docker's own repository, if this host may trust it.", shell("dnf config-manager --add-repo {}", url)),
        Step("rerun", "Run it again: Docker is then installed from there."),
        Step("configure", "Or install Docker yourself, or leave it out: give --skip-docker-install."),
    )
    headline = f"{_distribution(view)} has no Docker among its packages"
    return refusal("docker-none", headline, "no Docker", "Docker's engine", *(steps if url else steps[2:]))


def missing(view: View, names: tuple[str, ...]) -> Refusal:
    steps = (
        Step("configure", f"Enable the repository that has {names[0]}, or install Docker yourself."),
        Step("configure", "Or name another package in DOCKER_PACKAGE."),
        _AGAIN,
    )
    found = f"no {' and no '.join(names)} in the repositories of {_distribution(view)}"
    return refusal("docker-missing", "The repositories do not offer Docker", found, " and ".join(names), *steps)


def stand_in(view: View, name: str) -> Refusal:
    steps = (
        Step("install", f"Remove {name} first, if nobody needs it.", purge(view.packages, view.os, (name,))),
        Step("configure", "Or leave Docker out: give --skip-docker-install."),
        _AGAIN,
    )
    return refusal("docker-stand-in", f"The command docker is that of {name}, which is in Docker's way", name, "Docker's engine", *steps)


def no_user(name: str) -> Refusal:
    steps = (
        Step("configure", "Run it by sudo as the user who is to use Docker, or give --skip-docker-group."),
        _AGAIN,
    )
    return refusal("docker-user", "The user who is to use Docker does not exist on this host", f"no user {name!r:.60}", "a user", *steps)


def _distribution(view: View) -> str:
    os = view.os
    if isinstance(os, Unread):
        return "this distribution"
    return next((str(one) for one in (os.pretty_name, os.id) if not isinstance(one, Unread) and one), "this distribution")
