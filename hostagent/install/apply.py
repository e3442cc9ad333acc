"""One run: makes, shows and confirms the plan, then applies it part by part, each verified by a new pass.

`Apply._ready` has all that can refuse a run, by its errors. After it come the profile's own programs (``install.before``) and the changes
of the host, where nothing is refused any more.
"""

import errno
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from hostagent.core.typed import plain
from hostagent.core.unread import Unread, UnreadError
from hostagent.install import ansible, hooks, mounts, remembered, restoring, runs, state
from hostagent.install.jobs import Job, places, programs_of, refuse_untrusted, written_paths
from hostagent.install.keys import keys_of
from hostagent.install.leftovers import clear_half_written
from hostagent.install.lock import Busy, Lock, take
from hostagent.install.outcome import Outcome, RefusedError, UserInterface
from hostagent.install.packagelock import wait_until_free
from hostagent.install.playbooks import playbooks_path
from hostagent.install.retained import retain
from hostagent.install.target import StrayLinkError, Target
from hostagent.install.worker import Progress, Reporter, Worker
from hostagent.plan.document import Document
from hostagent.plan.model import Part, Plan, PlanStep
from hostagent.plan.view import View
from hostagent.profiles.install import InstallPolicy

#: Steps without a probe of their own: judged by exit code.
_MEANS = ("refresh", "download")
#: Errors of a disk that takes no more: a run that has changed nothing by then is refused.
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
_BEFORE = "before.json"
_FREE = "Free space there: package caches, old kernels, container images, the journal."


class Replan(NamedTuple):
    """A new plan of the host, or a new view of it, each by a new pass."""

    plan: Callable[[], tuple[Plan, Document]]
    view: Callable[[], View]


@dataclass
class Wishes:
    policy: InstallPolicy
    rollback: bool = True  # False: an old package that cannot be kept is no reason to refuse
    dry_run: bool = False


class _Ready(NamedTuple):
    """A run that passed all refusals, with what it needs to apply and to roll back."""

    plan: Plan
    document: Document
    lock: Lock
    keys: Mapping[str, bytes]
    run: runs.Run
    before: dict[str, Any]  # packages and files, as `_state_before` gives them
    continued: bool  # of a run that did not end


@dataclass
class Apply:
    """One `hostagent install`. `began`: whether something may have been changed, however this ends."""

    target: Target
    replan: Replan
    wishes: Wishes
    person: UserInterface
    began: bool = False
    run: "runs.Run | None" = None
    _done: int = field(default=0, init=False)

    def perform(self) -> Outcome:
        """Raises ``HostagentError`` where nothing was changed and nothing can be."""
        with ExitStack() as held:
            try:
                ready = self._ready(held)
                if isinstance(ready, Outcome):
                    return ready
                if not self.wishes.policy.before:
                    self.run = self._begin(ready, ready.before)
            except Busy as error:
                return Outcome("busy", f"{error}")
            except RefusedError as error:
                return Outcome("refused", error.message, notes=(error.remedy,))
            except StrayLinkError as error:
                return Outcome("refused", error.message, notes=(error.next_step,))
            except OSError as error:
                if self.began or error.errno not in _NO_ROOM:
                    raise
                return Outcome("refused", f"found {runs.FOLDER}: {error.strerror}, wanted it to keep what a rollback needs", notes=(_FREE,))
            return self._carry_out(ready)

    def _ready(self, held: ExitStack) -> "_Ready | Outcome":
        """Everything that can refuse a run. `held` has the lock, and removes a new run that does not begin."""
        if self.wishes.dry_run:
            return self._outcome_of(self.replan.plan())
        with self._lock(make=False):
            made = self.replan.plan()
            outcome = self._outcome_of(made)
            self._close(made[0], outcome)
        if outcome.word != "done":
            return outcome
        if not self.person.agrees():
            return Outcome("declined", "Nothing is changed.")
        lock = held.enter_context(self._lock(make=True))
        assert lock is not None
        if lock.waited:  # another run ended meanwhile
            made = self.replan.plan()
            outcome = self._outcome_of(made)
        return self._prepared(made, lock, held) if outcome.word == "done" else outcome

    def _prepared(self, made: tuple[Plan, Document], lock: Lock, held: ExitStack) -> _Ready:
        """Prepare the confirmed plan. Raises where it is refused."""
        plan, document = made
        keys = keys_of(plan.todo)
        places(plan.todo, self.target)
        self.target.enter(1)
        playbooks_path()
        refuse_untrusted(programs_of(plan.todo), self.target)
        wait_until_free(self.target, self.wishes.policy.lock_timeout_s)
        unended = runs.to_continue(self.target)
        run = unended or held.enter_context(runs.opened(self.target))
        before = self._state_before(run, plan, continued=unended is not None)
        if unended is None:  # there is room for it; one that did not end stays as it is until nothing refuses
            run.save(_BEFORE, before)
        retain(self.target, run, plan, required=self.wishes.rollback)
        return _Ready(plan, document, lock, keys, run, before, unended is not None)

    @contextmanager
    def _lock(self, *, make: bool) -> "Iterator[Lock | None]":
        lock = take(self.target, self.wishes.policy.lock_timeout_s, make=make)
        try:
            if lock is not None:
                mounts.allow_services(self.target)
            yield lock
        finally:
            if lock is not None:
                lock.close(changed=self.began or not make)

    def _outcome_of(self, made: tuple[Plan, Document]) -> Outcome:
        """Show the plan; the outcome where it has nothing to apply, else ``done``."""
        plan, document = made
        self.person.show(document)
        if plan.refusals:
            return Outcome("refused", plan.refusals[0].message)
        if self.wishes.dry_run or not plan.todo:
            return Outcome("reboot", "A reboot is due.") if plan.reboot.needed and not self.wishes.dry_run else Outcome("nothing")
        if not plan.resolved:
            return Outcome("refused", "The repositories were not asked: the plan does not know its versions.")
        return Outcome("done")

    def _close(self, plan: Plan, outcome: Outcome) -> None:
        """End a run that was killed after its last step: it needs no copies of what did not change."""
        run = runs.to_continue(self.target)
        if run is not None and run.state != "undoing" and outcome.word in ("nothing", "reboot") and os.geteuid() == 0:
            self.run, self.began = run, True
            self._remember(plan, "reboot" if outcome.word == "reboot" else "done", "")

    def _carry_out(self, ready: _Ready) -> Outcome:
        """Run the profile's own programs, then apply the parts of the plan. Every problem after those programs is a failed run."""
        if problem := hooks.run_before(self.wishes.policy.before):
            return Outcome("refused", problem, notes=("Fix that, or take it out of the profile's install.before",))
        self.began = True
        if self.run is None:  # files that the programs changed are no change of this run
            self.run = self._begin(ready, self._state_before(ready.run, ready.plan, continued=ready.continued))
        todo = ready.plan.todo
        problem = next(filter(None, (self._part(part, steps, ready.keys, ready.lock, len(todo)) for part, steps in _parts(todo))), "")
        return self._end(ready.plan, problem)

    def _state_before(self, run: runs.Run, plan: Plan, *, continued: bool) -> dict[str, Any]:
        """Packages and files for a rollback, with copies of the files in the run."""
        paths = written_paths(plan.todo)
        if not continued:
            files = state.files_of(self.target, paths)
            large = state.keep(self.target, files, run)
            return {"packages": state.packages_of(plan.view.installation), "files": state.as_json(files), "without_copy": large}
        before: dict[str, Any] = remembered.state_of(run, _BEFORE)
        known = state.from_json(before["files"])
        new = {path: entry for path, entry in state.files_of(self.target, paths, tree=False).items() if path not in known}
        state.keep(self.target, {**state.unchanged(self.target, known), **new}, run)
        return {**before, "files": {**before["files"], **state.as_json(new)}}

    def _begin(self, ready: _Ready, before: dict[str, Any]) -> runs.Run:
        """Record the run: from here on it has to be continued or rolled back."""
        run = ready.run
        run.save(_BEFORE, before)
        if ready.continued:
            clear_half_written(self.target, run)
        run.add_plan(plain(ready.document))
        if ready.continued:
            run.forget("undo.json")
            run.note("begin", continued=True)
        else:
            runs.begin(run)
        return run

    def _part(self, part: Part, steps: tuple[PlanStep, ...], keys: Mapping[str, bytes], lock: Lock, of: int) -> str:
        """Apply and verify one part; the problem, "" for none."""
        assert self.run is not None
        self.run.note("part", part=part, steps=[step.id for step in steps])
        where = places(steps, self.target)
        job = Job(steps, {path: data for path, data in keys.items() if path in where}, where)

        def work(place: str, variables: dict[str, str], reporter: Reporter) -> ansible.PlayResult:
            return ansible.play(place, job.for_playbook(self.target, place), variables, reporter.report, reporter.log)

        old = state.files_of(self.target, written_paths(steps), tree=False)
        state.keep(self.target, old, self.run)
        progress = Progress(self.person, steps, self._done, of)
        worker = Worker(self.target, self.run, lock)
        done = worker.carry_out(work, progress.update, self._hold_lane if job.unloads else lambda: None)
        self._done += len(steps)
        problem = progress.finished(done) or _unverified(steps, self.replan.view())
        if problem and part == "runtime":  # a runtime that does not take its file would not start again
            restoring.put_back(self.target, self.run, old)
        return problem

    def _hold_lane(self) -> "Unread | None":
        """In the worker: lock out queries to the driver while its module is unloaded."""
        import time

        from hostagent.host.worker_locks import hold

        return hold("nvidia", "nvidia", self.target.root, time.monotonic() + self.wishes.policy.lock_timeout_s)

    def _end(self, plan: Plan, problem: str) -> Outcome:
        """Verify by a new plan, which must have nothing left to do."""
        assert self.run is not None
        after, _ = self.replan.plan()
        left = [] if problem or after.refusals else [step for step in after.todo if step.kind not in _MEANS]
        if left:
            problem = f"{left[0].id}: it is to do again: wanted {left[0].probe.words}"
        needed = plan.reboot.needed if after.refusals else after.reboot.needed
        word = "failed" if problem else "reboot" if needed else "done"
        notes = () if problem else hooks.run_after(self.wishes.policy.after)
        try:
            self._remember(after, word, problem)
        except OSError as error:  # no space left
            problem = problem or f"the run was not written down: {error.strerror}"
        if problem or notes:
            return Outcome("failed", problem or notes[0], self.run.number, notes[1:])
        return Outcome("reboot" if needed else "done", " ".join((after if not after.refusals else plan).reboot.why), self.run.number)

    def _remember(self, after: Plan, word: str, problem: str) -> None:
        """Save the state after the run, so that a rollback can distinguish later changes by others."""
        assert self.run is not None
        before = state.from_json(remembered.state_of(self.run, _BEFORE)["files"])
        files = state.files_of(self.target, [path for path in before if not path.startswith(f"{state.TREE}/")])
        packages = None
        try:
            packages = state.packages_of(after.view.installation)
        except UnreadError:
            problem = problem or "the packages were not read"
        changed = {path: entry for path, entry in before.items() if not entry.same(files.get(path, state.Entry("none")))}
        self.run.save("after.json", {"packages": packages, "files": state.as_json(files)})
        if word != "failed":
            state.drop_copies(self.run, (entry.digest for entry in changed.values()))
        self.run.note("end", outcome=word, message=problem)


def _parts(steps: tuple[PlanStep, ...]) -> Iterator[tuple[Part, tuple[PlanStep, ...]]]:
    """The units of verification: each part, split before a restart with files that are verified first."""
    for (part, _), several in itertools.groupby(steps, key=lambda step: (step.part, step.kind == "restart")):
        yield part, tuple(several)


def _unverified(steps: tuple[PlanStep, ...], view: View) -> str:
    for step in steps:
        if step.kind not in _MEANS and not step.probe.done(view):
            return f"{step.id}: its programs told of no failure, but it is not done: wanted {step.probe.words}"
    return ""
