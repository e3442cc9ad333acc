"""What makes a pass begin, heard by one thread: the kernel's log, devices that come and go, configuration that changes, time."""

import random
import select
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hostagent.daemon.carried import Carried
from hostagent.daemon.passes import Pass
from hostagent.daemon.saying import Trigger
from hostagent.daemon.schedule import Done, Schedule, after_pass
from hostagent.evidence import Evidence
from hostagent.facts.unread import Unread
from hostagent.source.kernelwatch import KernelWatch
from hostagent.source.paths import Root
from hostagent.source.uevents import Uevents
from hostagent.source.watched import Places, Watched

#: Seconds between two looks at what nothing announces.
_LOOK_S = 1.0
_LOG = ("kernel_log",)
#: Where configuration is, and the daemon's own word from outside; CDI directories are those that a pass read.
_BELOW = ("/etc/", "/var/lib/kubelet/", "/var/run/cdi", "/run/cdi")
_WORDS = "/run/hostagent/cleared.json"
_BY_TIME = frozenset({"interval", "confirm"})
_OF_FILES = frozenset({"read", "tail", "list", "stat", "readlink", "realpath", "state_file"})


class Events:
    """Of one host, between one pass and the next."""

    def __init__(self, place: Evidence, interval_s: float) -> None:
        self._place, self._interval_s = place, interval_s
        self._root = Root(place.host_root or "/")
        is_live = not place.snapshot
        self._log = KernelWatch(self._root) if is_live else None
        self._devices = Uevents() if is_live else None
        self._files = Watched()
        self._carried = Carried(Places(self._root))
        self._schedule = Schedule(time.monotonic(), time.monotonic())
        self._began, self._began_at = time.monotonic(), time.time()
        self._in_a_row = 0

    @property
    def problem(self) -> str:
        return self._devices.problem if self._devices else ""

    def known(self) -> Mapping[tuple[str, ...], Any]:
        """As `hostagent.daemon.loop.Wake`. It is asked for just before a pass: what is heard from now on is that pass' own."""
        self._began, self._began_at = time.monotonic(), time.time()
        self._hear(self._began)
        log = self._log.answer() if self._log else None
        return {**self._carried.answers(), **({_LOG: log} if log is not None else {})}

    def passed(self, done: Pass, files: tuple[str, ...]) -> None:
        if self._log:
            self._log.passed(done.answers.get(_LOG))
        places = Places(self._root)
        self._carried.keep(places, done.answers, self._began_at)
        own = (*(one for one in files if one.startswith("/")), *((self._place.snapshot,) if self._place.snapshot else ()))
        self._files.watch(places, _paths(done.answers) if not self._place.snapshot else (), own, self._began_at)
        self._schedule = self._after_pass()

    def skipped(self) -> None:
        self._schedule = self._after_pass()
        if self._place.snapshot:
            self._files.watch(Places(self._root), (), (self._place.snapshot,))

    def _after_pass(self, confirm_s: "float | None" = None) -> Schedule:
        return after_pass(Done(self._began, time.monotonic(), self._in_a_row), self._interval_s, random.random(), confirm_s)  # noqa: S311

    def wait(self, confirm_s: "float | None", tick: Callable[[], None]) -> Trigger:
        """Until a pass is due."""
        if confirm_s is not None:
            self._schedule = self._after_pass(confirm_s)
        poll = select.poll()
        for descriptor in (self._log.descriptor if self._log else -1, self._devices.descriptor if self._devices else -1):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        look_at = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= look_at:
                tick()
                self._look(now)
                look_at = now + _LOOK_S
            due, trigger = self._schedule.due
            if now >= due:
                self._in_a_row = 0 if trigger in _BY_TIME else self._in_a_row + 1
                return trigger
            if poll.poll(max(0.0, min(due, look_at) - now) * 1000):
                self._hear_announced(time.monotonic())

    def _hear(self, now: float) -> None:
        self._hear_announced(now)
        self._look(now)

    def _look(self, now: float) -> None:
        """At what nothing announces."""
        if self._log and self._log.descriptor < 0 and self._log.look(now):
            self._schedule = self._schedule.heard("kernel-log", now)
        if self._files.look():
            self._carried.configuration_changed()
            self._schedule = self._schedule.heard("configuration", now)

    def _hear_announced(self, now: float) -> None:
        if self._log and self._log.look(now):
            self._schedule = self._schedule.heard("kernel-log", now)
        if self._devices and self._devices.look():
            self._schedule = self._schedule.heard("uevent", now)


def _paths(answers: Mapping[tuple[str, ...], Any]) -> Iterable[str]:
    """The configuration that a pass looked for, whether it was there or not. What did not answer is left alone."""
    found = {
        question[1]
        for question, answer in answers.items()
        if len(question) > 1
        and question[0] in _OF_FILES
        and question[1].startswith(_BELOW)
        and not (isinstance(answer, Unread) and answer.why == "timeout")
    }
    return sorted({*found, _WORDS})
