"""One rollback: restores the state before the newest run that was not rolled back, from what it retained."""

# dpkg --configure -a, one apt transaction with --purge from the kept files, then files, marks and holds, ldconfig, what steps
# have, and verification by a new pass. What differs from the state after the run was changed by others: it stays and is named; exit 1
# where the run itself had written it. Packages are restored by apt alone.

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
from hostagent.install.leftovers import clear_half_written, todo, written_files
from hostagent.install.lock import Busy, Lock, take
from hostagent.install.outcome import Outcome, RefusedError
from hostagent.install.retained import file_of
from hostagent.install.target import Target
from hostagent.install.undowords import files_title, packages_title, program_title
from hostagent.install.worker import Reporter, Worker
from hostagent.plan.view import View

_LIMIT_S = 3600.0
#: Programs of the target that every rollback runs.
_OWN_PROGRAMS = ("dpkg", "apt-get", "apt-mark", "ldconfig", "systemctl")


class Program(NamedTuple):
    """`codes`: exit codes of success; () for any."""

    argv: tuple[str, ...]
    codes: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class RollbackPlan:
    """What a rollback does. `kept_files`: those changed since the run."""

    run: runs.Run
    packages: Inverse
    files: tuple[str, ...]
    kept_files: tuple[str, ...]
    own_kept: tuple[str, ...]  # those of `kept_files` that the run itself wrote
    programs: tuple[Program, ...]  # undo programs of the steps


@dataclass
class Rollback:
    """One `hostagent rollback`. `began`: as in `hostagent.install.apply.Apply`."""

    target: Target
    look: Callable[[], View]
    lock_timeout_s: int
    show: Callable[["RollbackPlan"], None]
    agrees: Callable[[], bool]
    say: Callable[[str], None]
    dry_run: bool = False
    ended: Callable[[float, str], None] = lambda *_: None
    again: str = "hostagent rollback"  # the command for the run before it
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
        plan = plan_rollback(self.target, run, self.look())
        self.show(plan)
        if self.dry_run:
            return Outcome("nothing")
        if not self.agrees():
            return Outcome("declined", "Nothing is changed.")
        refuse_untrusted((*_OWN_PROGRAMS, *(one.argv[0] for one in plan.programs)), self.target)
        self.began = True
        return self._undo(plan, lock)

    def _undo(self, plan: RollbackPlan, lock: Lock) -> Outcome:
        run = plan.run
        before = remembered.state_of(run, "before.json")
        old_files = state.from_json(before["files"])
        paths = [path for path in old_files if not path.startswith(f"{state.TREE}/")]
        state.keep(self.target, state.files_of(self.target, paths), run)  # the transaction may change them, too
        run.save("undo.json", {"packages": plan.packages.kept, "files": plan.kept_files})
        run.note("undo")
        clear_half_written(self.target, run)
        worker = Worker(self.target, run, lock)
        work = _Work(self.target, plan, old_files, paths, self.lock_timeout_s)
        done = worker.carry_out(work.packages, self._on_event)
        if done.status != "successful":
            return Outcome("failed", f"{failure(done.failed) if done.failed else done.status}", run.number)
        wanted_marks = marks(before["packages"], state.packages_of(self.look().installation))
        done = worker.carry_out(work.rest(wanted_marks), self._on_event)
        if done.status != "successful":
            return Outcome("failed", f"{failure(done.failed) if done.failed else done.status}", run.number)
        return self._verify(plan, before)

    def _on_event(self, event: Mapping[str, Any]) -> None:
        if event["event"] == "start":
            self.say(str(event["title"]))
        else:
            self.ended(float(event["seconds"]), failure(event) if event["event"] == "failed" else "")

    def _next(self) -> tuple[str, ...]:
        """A failed run and the run that completed it are rolled back one by one."""
        run = runs.to_undo(self.target)
        return () if run is None else (f"Run {run.number} is still there: '{self.again}' takes it back, too",)

    def _verify(self, plan: RollbackPlan, before: Mapping[str, Any]) -> Outcome:
        """Verify by a new pass."""
        run = plan.run
        left = inverse(before["packages"], None, state.packages_of(self.look().installation))
        names = [key for key in (*(key for key, _ in left.back), *left.removed) if key not in plan.packages.kept]
        if names:
            return Outcome("failed", f"still not as before: {', '.join(names[:5])}", run.number)
        run.note("undone", kept=[*plan.packages.kept, *plan.own_kept])
        for name in ("copies", "packages"):
            shutil.rmtree(f"{run.path}/{name}", ignore_errors=True)
        kept = [*plan.packages.kept, *plan.own_kept]
        if kept:
            return Outcome("failed", f"changed since run {run.number}, and left as it is: {', '.join(kept[:10])}", notes=self._next())
        notes = tuple(f"{path} was changed since, and is left as it is" for path in plan.kept_files[:10])
        return Outcome("done", "is taken back", run.number, (*notes, *self._next()))


def plan_rollback(target: Target, run: runs.Run, view: View) -> RollbackPlan:
    """What this rollback does. Raises ``RefusedError`` where it is not possible."""
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
    own = written_files(plans)
    return RollbackPlan(run, packages, files.back, files.kept, tuple(path for path in files.kept if path in own), _programs(plans))


def _refuse_missing(run: runs.Run, packages: Inverse) -> None:
    folder = f"{run.path}/packages"
    missing = [f"{key} {version}" for key, version in packages.back if not os.path.isdir(folder) or not file_of(folder, key, version)]
    if missing:
        raise RefusedError(
            f"found no kept file of {', '.join(missing[:5])}, wanted it to go back", "Install these versions by hand, from where they came"
        )


def _programs(plans: Iterable[Mapping[str, Any]]) -> tuple[Program, ...]:
    """Undo programs of the steps of all plans, newest first, each once."""
    undo = [step["undo"] for step in reversed(todo(plans)) if step["undo"]["kind"] == "run"]
    runs_ = (one["run"] for what in undo for one in what["do"] if "run" in one)
    return tuple(dict.fromkeys(Program(tuple(one["argv"]), tuple(one["codes"])) for one in runs_))


@dataclass(frozen=True)
class _Work:
    """The work of a rollback inside the worker."""

    target: Target
    plan: RollbackPlan
    before: state.Files
    paths: list[str]
    lock_timeout_s: int

    def packages(self, place: str, variables: dict[str, str], reporter: Reporter) -> ansible.PlayResult:
        """First configures what dpkg left open, where a failing script is no reason to stop; then the package transaction."""
        open_ones = ("dpkg", "--force-confdef", "--force-confold", "--configure", "-a")
        self._run_program(Program(open_ones), "configure", program_title(open_ones), variables, reporter)
        wanted = self.plan.packages
        if wanted.is_empty:
            return ansible.PlayResult("successful", None)
        inside = f"{runs.FOLDER}/runs/{self.plan.run.number}/packages"
        files = [f"{inside}/{file_of(f'{self.plan.run.path}/packages', key, version)}" for key, version in wanted.back]
        words = argv(files, wanted.removed, self.lock_timeout_s)
        event = self._run_program(Program(words), "packages", packages_title(wanted), variables, reporter)
        return ansible.PlayResult("failed", event) if event["event"] == "failed" else ansible.PlayResult("successful", None)

    def rest(self, wanted_marks: tuple[tuple[str, ...], ...]) -> "Callable[[str, dict[str, str], Reporter], ansible.PlayResult]":
        """Files, marks, and undo programs of the steps."""

        def work(place: str, variables: dict[str, str], reporter: Reporter) -> ansible.PlayResult:
            reporter.report({"event": "start", "step": "files", "number": 0, "title": files_title(self.plan.files)})
            began = time.monotonic()
            problems = restoring.restore(self.target, self.plan.run, self.before, self.plan.kept_files, self.paths)
            ended = {"step": "files", "number": 0, "seconds": round(time.monotonic() - began, 1), "rc": None}
            reporter.report({"event": "failed" if problems else "ok", **ended, "stderr": "\n".join(problems[:1])})
            if problems:
                return ansible.PlayResult("failed", {"stderr": problems[0]})
            for program in (*map(Program, wanted_marks), *self._after()):
                done = self._run_program(program, program.argv[0], program_title(program.argv), variables, reporter)
                if done["event"] == "failed":
                    return ansible.PlayResult("failed", done)
            return ansible.PlayResult("successful", None)

        return work

    def _after(self) -> tuple[Program, ...]:
        reload = (
            (Program(("systemctl", "daemon-reload")),)
            if self.target.kind != "image" and self.target.root.exists("/run/systemd/system")
            else ()
        )
        return (Program(("ldconfig",)), *reload, *self.plan.programs)

    def _run_program(self, program: Program, step: str, title: str, variables: Mapping[str, str], reporter: Reporter) -> Mapping[str, Any]:
        reporter.report({"event": "start", "step": step, "number": 0, "title": title})
        reporter.log(f"+ {json.dumps(program.argv)}")
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
        reporter.log(without_secrets(done.stdout + done.stderr))
        event = {
            "event": "ok" if not program.codes or done.returncode in program.codes else "failed",
            "step": step,
            "number": 0,
            "seconds": round(time.monotonic() - began, 1),
            "rc": done.returncode,
            "stdout": done.stdout[-20_000:],
            "stderr": done.stderr[-20_000:],
        }
        reporter.report(event)
        return event
