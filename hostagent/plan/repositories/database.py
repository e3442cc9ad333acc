"""Repair of a package database after an interrupted run."""

# `dpkg --configure -a` exits 1 after a kill between two unpackings, which is no failure: then `apt-get --fix-broken --no-remove
# install`. While dependencies are unmet apt answers no question about other packages (2.6, measured), so questions name what
# --fix-broken would add.

from hostagent.core.unread import need
from hostagent.plan import aptcommands
from hostagent.plan.model import Given, PlanStep, Probe, Run, Undo
from hostagent.plan.view import View

#: dpkg's states between installed and removed (dpkg(1), package states).
_HALF_WAY = frozenset(("half-installed", "unpacked", "half-configured", "triggers-awaited", "triggers-pending"))
_HALF_CONFIGURED = 1


def repair_step(given: Given, manager: str) -> tuple[PlanStep, ...]:
    """The repair step; none where the database is whole. Raises ``UnreadError``."""
    if manager != "apt-get" or is_whole(given.view):
        return ()
    words = "nothing of a run of dpkg is pending, and no package is half-way"
    return (
        PlanStep(
            "repositories.repair",
            "repositories",
            "repair",
            "End what an interrupted run of dpkg left",
            f"dpkg takes no other work before: {_found(given.view)}",
            Probe(words, is_whole),
            (
                # one whose dependency was not unpacked yet cannot be configured: the second program fetches that
                Run(aptcommands.configure(), codes=(0, _HALF_CONFIGURED)),
                Run(_completed(given)),
            ),
            Undo("none", "a package database that is half-way is not made so again"),
            ("driver.package_interrupted", "driver.package_state"),
        ),
    )


def is_whole(view: View) -> bool:
    """Raises ``UnreadError``."""
    return not need(need(view.packages).interrupted) and not _half_way(view)


def _half_way(view: View) -> tuple[str, ...]:
    return tuple(one.name for one in need(need(view.installation).packages) if one.state in _HALF_WAY)


def _found(view: View) -> str:
    names = _half_way(view)
    if not names:
        return "/var/lib/dpkg/updates is not empty"
    others = len(names) - 1
    return f"{names[0]}{f' and {others} other packages are' if others else ' is'} half-way"


def _completed(given: Given) -> tuple[str, ...]:
    """Completes dependencies without removing packages, which have another owner."""
    argv = aptcommands.fix_broken(given.profile.install.lock_timeout_s)
    at = argv.index("install")
    return (*argv[:at], "--no-remove", *argv[at:])
