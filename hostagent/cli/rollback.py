"""``hostagent rollback``."""

from typing import TYPE_CHECKING

import click

from hostagent.cli import SETTINGS, examples
from hostagent.cli.changing import DRY_RUN, YES, asking, conclude, place_options, refuse_ordinary_user, refuse_silence, told
from hostagent.cli.options import evidence
from hostagent.cli.streams import complain, say
from hostagent.evidence import Evidence, open_host

if TYPE_CHECKING:
    from hostagent.install.runs import Run
    from hostagent.install.undoing import Undone
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
    """Take back the newest 'hostagent install' that was not taken back yet: packages, files, marks and holds, from what it kept.

    A file that somebody changed since stays as it is and is named. Exit 0: as before, or nothing to take back. 1: something is not as
    before. 2: usage, or hostagent could not run. 4: refused, nothing is changed. 5: another run is at work.
    """
    place = evidence(host_root, root, "", None, 30)
    from hostagent.install.target import Target

    target = Target(place)
    if listed:
        from hostagent.install.runs import runs

        say(*(map(_line, found) if (found := runs(target)) else ("This host remembers no run.",)))
        return 0
    refuse_silence(yes=yes, dry_run=dry_run)
    if not dry_run:
        refuse_ordinary_user()
    from hostagent.install.undoing import Rollback

    rollback = Rollback(target, lambda: _look(place), _LOCK_S, _show, asking("Take this back?", yes=yes), complain, dry_run)
    return conclude(told(rollback.perform, lambda: rollback.began))


def _look(place: Evidence) -> "View":
    from hostagent.plan.view import view

    with open_host(place, ("Identity", "Os", "Packages", "Installation")) as reading:
        return view(reading.collect().facts)


def _line(run: "Run") -> str:
    from hostagent.report.times import iso

    journal = run.journal()
    began = next((one["at"] for one in journal if one.get("event") == "begin"), 0)
    steps = [step for one in journal if one.get("event") == "part" for step in one.get("steps", ())]
    return f"{run.number}  {iso(began)}  {run.state}  {', '.join(dict.fromkeys(steps))}"


def _show(undone: "Undone") -> None:
    packages = undone.packages
    say(f"Run {undone.run.number} is taken back:")
    rows = [
        *(f"  {key} back to {version}" for key, version in packages.back),
        *(f"  {key} removed" for key in packages.removed),
        *(f"  {path} as before" for path in undone.files),
        *(f"  {one} changed since, and stays" for one in (*packages.kept, *undone.kept_files)),
    ]
    say(*(rows[:_SHOWN] if rows else ["  nothing differs"]))
    if len(rows) > _SHOWN:
        say(f"  and {len(rows) - _SHOWN} more")
