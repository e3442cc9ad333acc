"""One rollback: the newest run that was not undone is taken back, from what it kept."""

# dpkg --configure -a, one apt transaction with --purge from the kept files, then files, marks and holds, ldconfig, what steps
# say, and a proof by a new pass. What differs from what the run left is another's: it stays and is named; exit 1 where the run
# itself had written it. Packages are taken back by apt alone.

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hostagent.core.secret.names import without_secrets
from hostagent.core.unread import UnreadError
from hostagent.install import ansible, mounts, remembered, restoring, runs, state
from hostagent.install.error_text import failure
from hostagent.install.inverse import Inverse, argv, inverse, marks
from hostagent.install.jobs import refuse_untrusted
from hostagent.install.leftovers import clear_half_written, todo, written
from hostagent.install.lock import Busy, Lock, take
from hostagent.install.outcome import Outcome, RefusedError
from hostagent.install.retained import file_of
from hostagent.install.target import Target
from hostagent.install.undowords import files_title, packages_title, program_title
from hostagent.install.worker import Speaker, Worker
from hostagent.plan.view import View

_LIMIT_S = 3600.0
#: Of the target: what a rollback runs whatever the plan was.
_OWN_PROGRAMS = ("dpkg", "apt-get", "apt-mark", "ldconfig", "systemctl")


class Program(NamedTuple):
    """`codes`: those that are no failure; () any."""

    argv: tuple[str, ...]
    codes: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class Undone:
    """What a rollback does. `kept_files`: changed by somebody since the run."""

    run: runs.Run
    packages: Inverse
    files: tuple[str, ...]
    kept_files: tuple[str, ...]
    own_kept: tuple[str, ...]  # of these, what the run itself wrote
    programs: tuple[Program, ...]  # what the steps say


@dataclass
class Rollback:
    """One `hostagent rollback`. `began` as of a Performance."""

    target: Target
    look: Callable[[], View]
    lock_timeout_s: int
    show: Callable[["Undone"], None]
    agrees: Callable[[], bool]
    say: Callable[[str], None]
    dry_run: bool = False
    ended: Callable[[float, str], None] = lambda *_: None
    again: str = "hostagent rollback"  # what takes back the run before
    began: bool = field(default=False, init=False)

    def perform(self) -> Outcome:
        try:
            lock = take(self.target, self.lock_timeout_s, make=False)
            if lock is None:
                return Outcome("nothing", "This host remembers no run.")
            try:
                mounts.allow_services(self.target)
                return self._perform(lock)
            finally:
                lock.close(changed=True)
        except Busy as error:
            return Outcome("busy", f"{error}")
        except RefusedError as error:
            return Outcome("refused", error.message, notes=(error.remedy,))

    def _perform(self, lock: Lock) -> Outcome:
        run = runs.to_undo(self.target)
        if run is None:
            return Outcome("nothing", "This host remembers no run that was not undone.")
        undone = decided(self.target, run, self.look())
        self.show(undone)
        if self.dry_run:
            return Outcome("nothing")
        if not self.agrees():
            return Outcome("declined", "Nothing is changed.")
        refuse_untrusted((*_OWN_PROGRAMS, *(one.argv[0] for one in undone.programs)), self.target)
        self.began = True
        return self._undo(undone, lock)

    def _undo(self, undone: Undone, lock: Lock) -> Outcome:
        run = undone.run
        before = remembered.state_of(run, "before.json")
        old_files = state.from_json(before["files"])
        paths = [path for path in old_files if not path.startswith(f"{state.TREE}/")]
        state.keep(self.target, state.files_of(self.target, paths), run)  # the transaction may change them, too
        run.save("undo.json", {"packages": undone.packages.kept, "files": undone.kept_files})
        run.note("undo")
        clear_half_written(self.target, run)
        worker = Worker(self.target, run, lock)
        work = _Work(self.target, undone, old_files, paths, self.lock_timeout_s)
        done = worker.carry_out(work.packages, self._hear)
        if done.status != "successful":
            return Outcome("failed", f"{failure(done.failed) if done.failed else done.status}", run.number)
        told = marks(before["packages"], state.packages_of(self.look().installation))
        done = worker.carry_out(work.rest(told), self._hear)
        if done.status != "successful":
            return Outcome("failed", f"{failure(done.failed) if done.failed else done.status}", run.number)
        return self._proved(undone, before)

    def _hear(self, told: Mapping[str, Any]) -> None:
        if told["event"] == "start":
            self.say(str(told["title"]))
        else:
            self.ended(float(told["seconds"]), failure(told) if told["event"] == "failed" else "")

    def _next(self) -> tuple[str, ...]:
        """A run that failed and the one that completed it may be two: each is taken back by itself."""
        run = runs.to_undo(self.target)
        return () if run is None else (f"Run {run.number} is still there: '{self.again}' takes it back, too",)

    def _proved(self, undone: Undone, before: Mapping[str, Any]) -> Outcome:
        """By a new pass."""
        run = undone.run
        left = inverse(before["packages"], None, state.packages_of(self.look().installation))
        names = [key for key in (*(key for key, _ in left.back), *left.removed) if key not in undone.packages.kept]
        if names:
            return Outcome("failed", f"still not as before: {', '.join(names[:5])}", run.number)
        run.note("undone", kept=[*undone.packages.kept, *undone.own_kept])
        for name in ("copies", "packages"):
            shutil.rmtree(f"{run.path}/{name}", ignore_errors=True)
        kept = [*undone.packages.kept, *undone.own_kept]
        if kept:
            return Outcome("failed", f"changed since run {run.number}, and left as it is: {', '.join(kept[:10])}", notes=self._next())
        notes = tuple(f"{path} was changed since, and is left as it is" for path in undone.kept_files[:10])
        return Outcome("done", "is taken back", run.number, (*notes, *self._next()))


def decided(target: Target, run: runs.Run, view: View) -> Undone:
    """What would be done. Raises ``RefusedError`` where it cannot be."""
    before, plans = remembered.state_of(run, "before.json"), remembered.plans(run)
    try:
        now = state.packages_of(view.installation)
    except UnreadError as error:
        raise RefusedError(f"the packages were not read: {error}", "Run it as root") from error
    old_files = state.from_json(before["files"])
    now_files = state.files_of(target, [path for path in old_files if not path.startswith(f"{state.TREE}/")])
    has_after = run.state in ("done", "reboot", "failed") and os.path.exists(f"{run.path}/after.json")
    after = remembered.state_of(run, "after.json") if has_after else None
    packages = inverse(before["packages"], after["packages"] if after else None, now)
    files = restoring.difference(old_files, state.from_json(after["files"]) if after else None, now_files)
    if os.path.exists(f"{run.path}/undo.json"):  # a rollback that was ended goes on
        first = remembered.kept_of(run, "undo.json")
        whole = inverse(before["packages"], None, now)
        held = set(first["packages"])
        packages = Inverse(
            tuple(one for one in whole.back if one[0] not in held),
            tuple(one for one in whole.removed if one not in held),
            tuple(first["packages"]),
        )
        files = restoring.Difference(files.back, tuple(first["files"]))
    if not packages.is_empty and not target.root.exists("/usr/bin/apt-get"):
        raise RefusedError(
            "found no apt-get on this host, wanted it: packages are taken back by apt alone", "Take the packages back by hand"
        )
    _refuse_missing(run, packages)
    own = written(plans)
    return Undone(run, packages, files.back, files.kept, tuple(path for path in files.kept if path in own), _programs(plans))


def _refuse_missing(run: runs.Run, packages: Inverse) -> None:
    folder = f"{run.path}/packages"
    missing = [f"{key} {version}" for key, version in packages.back if not os.path.isdir(folder) or not file_of(folder, key, version)]
    if missing:
        raise RefusedError(
            f"found no kept file of {', '.join(missing[:5])}, wanted it to go back", "Install these versions by hand, from where they came"
        )


def _programs(plans: Iterable[Mapping[str, Any]]) -> tuple[Program, ...]:
    """What the steps of all plans say, newest first, each once."""
    undo = [step["undo"] for step in reversed(todo(plans)) if step["undo"]["kind"] == "run"]
    runs_ = (one["run"] for what in undo for one in what["do"] if "run" in one)
    return tuple(dict.fromkeys(Program(tuple(one["argv"]), tuple(one["codes"])) for one in runs_))


@dataclass(frozen=True)
class _Work:
    """What is done in the worker."""

    target: Target
    undone: Undone
    before: state.Files
    paths: list[str]
    lock_timeout_s: int

    def packages(self, place: str, variables: dict[str, str], speaker: Speaker) -> ansible.Played:
        """What dpkg left open first: a script that fails again is no reason to stop."""
        open_ones = ("dpkg", "--force-confdef", "--force-confold", "--configure", "-a")
        self._ran(Program(open_ones), "configure", program_title(open_ones), variables, speaker)
        wanted = self.undone.packages
        if wanted.is_empty:
            return ansible.Played("successful", None)
        inside = f"{runs.FOLDER}/runs/{self.undone.run.number}/packages"
        files = [f"{inside}/{file_of(f'{self.undone.run.path}/packages', key, version)}" for key, version in wanted.back]
        words = argv(files, wanted.removed, self.lock_timeout_s)
        told = self._ran(Program(words), "packages", packages_title(wanted), variables, speaker)
        return ansible.Played("failed", told) if told["event"] == "failed" else ansible.Played("successful", None)

    def rest(self, told: tuple[tuple[str, ...], ...]) -> "Callable[[str, dict[str, str], Speaker], ansible.Played]":
        """Files, marks, and what the steps say."""

        def work(place: str, variables: dict[str, str], speaker: Speaker) -> ansible.Played:
            speaker.tell({"event": "start", "step": "files", "number": 0, "title": files_title(self.undone.files)})
            began = time.monotonic()
            problems = restoring.restore(self.target, self.undone.run, self.before, self.undone.kept_files, self.paths)
            ended = {"step": "files", "number": 0, "seconds": round(time.monotonic() - began, 1), "rc": None}
            speaker.tell({"event": "failed" if problems else "ok", **ended, "stderr": "\n".join(problems[:1])})
            if problems:
                return ansible.Played("failed", {"stderr": problems[0]})
            for program in (*map(Program, told), *self._after()):
                done = self._ran(program, program.argv[0], program_title(program.argv), variables, speaker)
                if done["event"] == "failed":
                    return ansible.Played("failed", done)
            return ansible.Played("successful", None)

        return work

    def _after(self) -> tuple[Program, ...]:
        reload = (
            (Program(("systemctl", "daemon-reload")),)
            if self.target.kind != "image" and self.target.root.exists("/run/systemd/system")
            else ()
        )
        return (Program(("ldconfig",)), *reload, *self.undone.programs)

    def _ran(self, program: Program, step: str, title: str, variables: Mapping[str, str], speaker: Speaker) -> Mapping[str, Any]:
        speaker.tell({"event": "start", "step": step, "number": 0, "title": title})
        speaker.log(f"+ {json.dumps(program.argv)}")
        began = time.monotonic()
        done = subprocess.run(
            [*self.target.enter(_LIMIT_S), *program.argv],
            env=dict(variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        speaker.log(without_secrets(done.stdout + done.stderr))
        told = {
            "event": "ok" if not program.codes or done.returncode in program.codes else "failed",
            "step": step,
            "number": 0,
            "seconds": round(time.monotonic() - began, 1),
            "rc": done.returncode,
            "stdout": done.stdout[-20_000:],
            "stderr": done.stderr[-20_000:],
        }
        speaker.tell(told)
        return told
