"""Refresh and download: all that needs a network, before changes that a failing network would interrupt."""

from hostagent.core.unread import need
from hostagent.plan import cudafound
from hostagent.plan.driver.announced import whole_set
from hostagent.plan.driver.probes import libraries_there
from hostagent.plan.model import Choices, Given, PlanStep, Probe, Run, Undo
from hostagent.plan.toolkitprograms import has_programs, transaction
from hostagent.plan.transactions import Commands, commands
from hostagent.plan.view import View

_CACHED = Undo("none", "an index and a cache of packages change nothing")
Pair = tuple[str, str]


def fetch_steps(given: Given, choices: Choices, manager: str) -> tuple[PlanStep, ...]:
    """The two steps; both are done where all packages are installed. Raises ``UnreadError``."""
    pairs = (
        *(*choices.driver.before, *choices.driver.packages, *choices.toolkit.packages),
        *(*choices.cuda.packages, *choices.docker.packages),
    )
    if not manager or not pairs:
        return ()
    removed = choices.driver.removed
    probe = Probe(
        "the packages of this plan are installed",
        lambda view: installed(view, pairs) and not any_of(view, removed) and _is_whole(view, choices),
    )
    command = commands(given.view, given.profile.install.lock_timeout_s)
    downloads = tuple(Run(command.downloaded(argv)) for argv in _transactions(command, choices, given.view))
    return (
        PlanStep(
            *("repositories.refresh", "repositories", "refresh", "Read the repositories' indexes"),
            "the versions of this plan are in them",
            probe,
            (Run(command.refresh(), timeout_s=600),),
            _CACHED,
        ),
        PlanStep(
            *("repositories.download", "repositories", "download", "Fetch the packages"),
            "the network cannot fail any more while packages change",
            probe,
            downloads,
            _CACHED,
        ),
    )


def _transactions(command: Commands, choices: Choices, view: View) -> tuple[tuple[str, ...], ...]:
    """The argv of each transaction of this plan, in order."""
    driver, toolkit = choices.driver, choices.toolkit
    return (
        *((command.install(driver.before),) if driver.wanted and driver.before else ()),
        *((whole_set(command, driver, view),) if driver.wanted and (driver.before or driver.packages) else ()),
        *((_of_toolkit(command, choices, view),) if toolkit.wanted and toolkit.packages else ()),
        *((_of_cuda(command, choices, view),) if choices.cuda.wanted else ()),
        *((command.install(choices.docker.packages),) if choices.docker.wanted else ()),
    )


def _of_toolkit(command: Commands, choices: Choices, view: View) -> tuple[str, ...]:
    return transaction(command, choices.toolkit, view, installed=installed(view, choices.toolkit.packages))


def _of_cuda(command: Commands, choices: Choices, view: View) -> tuple[str, ...]:
    return cudafound.transaction(command, choices.cuda, view, installed=installed(view, choices.cuda.packages))


def _is_whole(view: View, choices: Choices) -> bool:
    """Whether no package has to be reinstalled. Raises ``UnreadError``."""
    driver, toolkit = choices.driver, choices.toolkit
    is_driver = not driver.wanted or not driver.version or libraries_there(view, driver.version)
    is_cuda = not choices.cuda.wanted or cudafound.is_there(view, choices.cuda)
    return is_driver and is_cuda and (not toolkit.wanted or not toolkit.packages or has_programs(view))


def installed(view: View, pairs: tuple[Pair, ...]) -> bool:
    """Whether each package is installed, at its version where that is known. Raises ``UnreadError``."""
    return all(any(_is_at(version, found) for found in _versions(view, name)) for name, version in pairs)


def any_of(view: View, names: tuple[str, ...]) -> bool:
    return any(_versions(view, name) for name in names)


def _versions(view: View, name: str) -> tuple[str, ...]:
    found = need(need(view.installation).packages)
    return tuple(one.version for one in found if one.name == name and one.state == "installed")


def _is_at(version: str, found: str) -> bool:
    """`version` may end in a star, or be ""."""
    return found.startswith(version[:-1]) if version.endswith("*") else version in ("", found)
