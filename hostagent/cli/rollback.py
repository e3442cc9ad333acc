"""``hostagent rollback``."""

import shlex
import textwrap
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.changing import DRY_RUN, YES, asking, conclude, outcome_of, place_options, refuse_ordinary_user, refuse_silence
from hostagent.cli.options import evidence, terminal_width
from hostagent.cli.progress import Progress
from hostagent.cli.streams import say
from hostagent.engine.target import Evidence, open_host

if TYPE_CHECKING:
    from hostagent.install.rollback import RollbackPlan
    from hostagent.install.runs import Run
    from hostagent.plan.view import View

#: Seconds for another run, and for the package manager's own lock.
_LOCK_S = 120
_SHOWN = 40


@click.command("rollback", context_settings=SETTINGS, epilog=examples("hostagent rollback --list", "hostagent rollback --dry-run"))
@YES
@DRY_RUN
@click.option("--list", "listed", is_flag=True, help="List the runs that this host remembers.")
@place_options
def command(yes: bool, dry_run: bool, listed: bool, host_root: str | None, root: str | None) -> int:
    """Undo the newest 'hostagent install' that was not undone yet: packages, files, marks and holds, from what it kept.

    A file that changed since stays as it is and is named. Exit 0: as before, or nothing to undo. 1: something is not as before. 2: usage,
    or hostagent could not run. 4: refused, nothing is changed. 5: another run is at work.
    """
    place = evidence(host_root, root, "", None, 30)
    from hostagent.install.target import Target

    target = Target(place)
    if listed:
        from hostagent.install.runs import runs, to_undo

        following = to_undo(target)
        lines = [line for run in runs(target) for line in _lines(run, following.number if following else 0)]
        say(*(lines or ("This host remembers no run.",)))
        return 0
    refuse_silence(yes=yes, dry_run=dry_run)
    if not dry_run:
        refuse_ordinary_user()
    from hostagent.install.rollback import Rollback

    again = shlex.join(("hostagent", "rollback", *(("--root", root) if root else ("--host-root", host_root) if host_root else ())))
    progress = Progress()
    agrees, show = asking("Take this back?", yes=yes), partial(_show, dry_run=dry_run)
    rollback = Rollback(target, lambda: _look(place), _LOCK_S, show, agrees, progress.begin, dry_run, progress.end, again)
    return conclude(outcome_of(rollback.perform, lambda: rollback.began))


def _look(place: Evidence) -> "View":
    from hostagent.plan.view import view

    with open_host(place, ("Identity", "Os", "Packages", "Installation")) as reading:
        return view(reading.collect().facts)


def _lines(run: "Run", following: int) -> Iterator[str]:
    """Number, time and end; below it what it changed, and whether it is the one that is taken back next."""
    from hostagent.engine.report.times import moment
    from hostagent.install.history import summary_of

    one, width = summary_of(run), terminal_width()
    head = f"Run {one.number}, {moment(one.began)}: {one.ended}"
    yield from textwrap.wrap(head, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    what = f"{one.changes}{'; the next rollback takes it back' if one.number == following else ''}"
    yield from textwrap.wrap(what, width, initial_indent="  ", subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _show(plan: "RollbackPlan", *, dry_run: bool) -> None:
    packages = plan.packages
    say(f"Run {plan.run.number} {'would be' if dry_run else 'is'} taken back:")
    rows = [
        *(f"  {key} back to {version}" for key, version in packages.back),
        *(f"  {key} removed" for key in packages.removed),
        *(f"  {path} as before" for path in plan.files),
        *(f"  {one} changed since, and stays" for one in (*packages.kept, *plan.kept_files)),
    ]
    say(*(rows[:_SHOWN] if rows else ["  nothing differs"]))
    if len(rows) > _SHOWN:
        say(f"  and {len(rows) - _SHOWN} more")
