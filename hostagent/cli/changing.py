"""What ``install`` and ``rollback`` share: where they change a host, how they ask, and how they end when something goes wrong."""

import os
import sys
from collections.abc import Callable

import click

from hostagent.cli.ending import Ended
from hostagent.cli.options import Command
from hostagent.cli.streams import complain, say
from hostagent.core.errors import HostagentError, ended
from hostagent.install.outcome import Outcome

FAILED = 1
_PLACES = (
    click.option("--host-root", type=click.Path(), help="A live host whose / is mounted at DIR.", metavar="DIR"),
    click.option("--root", type=click.Path(), help="An image tree at DIR that is not running.", metavar="DIR"),
)
KERNEL = click.option("--kernel", default="", help="The kernel the image will boot (with --root).", metavar="RELEASE")
YES = click.option("-y", "--yes", is_flag=True, help="Do not ask.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Print what would be done, and change nothing.")


def place_options(command: Command) -> Command:
    for option in reversed(_PLACES):
        command = option(command)
    return command


def refuse_silence(*, yes: bool, dry_run: bool) -> None:
    """Raises ``click.UsageError`` without a terminal for the question."""
    if not yes and not dry_run and not sys.stdin.isatty():
        raise click.UsageError("found neither --yes nor a terminal to ask at")


def refuse_ordinary_user() -> None:
    if os.geteuid() != 0:
        raise HostagentError(f"found user {os.geteuid()}, wanted root: this changes the host", "Run it again with sudo")


def asking(question: str, *, yes: bool) -> Callable[[], bool]:
    return lambda: yes or bool(click.confirm(question, err=True))


def outcome_of(perform: Callable[[], Outcome], began: Callable[[], bool]) -> Outcome:
    """The outcome. Once something may have been changed, whatever goes wrong is a failed run; before that it is raised."""
    try:
        return perform()
    except HostagentError as error:
        if not began():
            raise
        return Outcome("failed", f"{ended(error.message)} {error.next_step}".rstrip())
    except (KeyboardInterrupt, Ended):
        if not began():
            raise
        return Outcome("failed", "Interrupted. What is under way goes on to its end; the next run waits for it, and continues.")
    except OSError as error:  # no space left, a file system that is read-only
        if not began():
            raise
        return Outcome("failed", f"{error.filename or 'the host'}: {error.strerror}")
    except Exception as error:
        if not began():
            raise
        import traceback

        complain(*"".join(traceback.format_exception(error)).rstrip("\n").split("\n"))
        return Outcome("failed", f"hostagent failed: {type(error).__name__}: {error}")


def conclude(outcome: Outcome, tell: Callable[..., None] = say) -> int:
    """The last lines, and the exit code. `tell` prints the result of a successful run."""
    message = outcome.message
    if outcome.word == "failed":
        complain(f"FAILED  {ended(message)}", *outcome.notes)
        if outcome.run:
            complain(f"The log is /var/lib/hostagent/runs/{outcome.run}/log. Fix that, then run the same command again.")
    elif outcome.word in ("busy", "refused", "declined"):
        complain(f"{outcome.word.upper()}  {ended(message)}", *outcome.notes)
    elif outcome.word == "reboot":
        tell(f"DONE  {message or 'A reboot is due.'}", "Reboot the host: until then new GPU jobs may fail.")
    elif outcome.word == "done":
        tell(" ".join(filter(None, ("DONE", f"run {outcome.run}", message))), *outcome.notes)
    elif message:
        tell(message)
    return outcome.code
