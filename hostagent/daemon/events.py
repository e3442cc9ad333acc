"""What makes a pass begin, in one thread: the kernel log, devices and links that change, configuration that changes, a signal, time."""

import ipaddress
import random
import select
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from hostagent.core.unread import Unread
from hostagent.daemon.answer_cache import AnswerCache
from hostagent.daemon.message import Trigger
from hostagent.daemon.passes import Pass
from hostagent.daemon.schedule import Buckets, Done, Schedule, after_pass
from hostagent.domains.network.read_link_events import LinkEvents
from hostagent.engine.target import Evidence
from hostagent.host.kernel_watch import KernelWatch, News
from hostagent.host.paths import Root
from hostagent.host.uevents import Uevents
from hostagent.host.watched_files import FileWatch, Places

#: Seconds between two polls of sources without notification.
_LOOK_S = 1.0
#: Seconds from the first event to the read of all: a host with pods has events in a row, and each wake costs more than a read. Less than
#: `GATHER_S`, which runs meanwhile.
_READ_AFTER_S = 0.4
#: The same for so many seconds after a read in which nothing counted: a pass then begins at once, still within 2 s of its event.
_IDLE_READ_AFTER_S, _IDLE_S = 0.9, 2.0
_LOG, _KERNEL_WORDS = ("kernel_log",), ("kernel_words",)
#: Where configuration is, and the file of acknowledged faults; CDI directories are those that a pass read.
_BELOW = ("/etc/", "/var/lib/kubelet/", "/var/run/cdi", "/run/cdi")
_WORDS = "/run/hostagent/cleared.json"
_BY_TIME = frozenset({"interval", "confirm"})
_TRIGGERS: Mapping[News, Trigger] = {"record": "kernel-log", "link": "link"}
_DEVICE, _DEVICES, _OTHERS = ("network", "device"), ("network", "devices"), ("network", "others")
_NONE = Unread("not-recorded", "not asked")
#: The column of `_OTHERS` with the interface at the other end.
_OTHER_END = 3
#: Signals that wait for `Events.wait`.
_MOST_SIGNALS = 16
_OF_FILES = frozenset({"read", "tail", "list", "stat", "readlink", "realpath", "state_file"})


class Events:
    """Of one host, between one pass and the next."""

    def __init__(self, place: Evidence, interval_s: float) -> None:
        self._place, self._interval_s = place, interval_s
        self._root = Root(place.host_root or "/")
        is_live = not place.snapshot
        self._log = KernelWatch(self._root) if is_live else None
        self._links = LinkEvents(self._root) if is_live else None
        self._devices = Uevents() if is_live else None
        self._of_readers: frozenset[str] | None = None
        self._pairs = frozenset[tuple[str, str]]()
        self._files = FileWatch()
        self._answer_cache = AnswerCache(Places(self._root))
        self._schedule = Schedule(time.monotonic(), time.monotonic())
        self._began, self._began_at = time.monotonic(), time.time()
        self._in_a_row = 0
        self._trigger: Trigger = "start"
        self._findings: tuple[tuple[str, ...], ...] | None = None
        self._buckets = Buckets()
        self._ready_at: float | None = None  # of the first event that was not read yet
        self._idle_until = 0.0
        self._signals: deque[Trigger] = deque(maxlen=_MOST_SIGNALS)

    @property
    def problem(self) -> str:
        return "; ".join(one.problem for one in (self._devices, self._links) if one and one.problem)

    def add_event(self, trigger: Trigger) -> None:
        """An event from outside, for a signal handler: `wait` sees it within a second."""
        self._signals.append(trigger)  # no more: the handler may interrupt any line of this class

    def cached_answers(self) -> Mapping[tuple[str, ...], Any]:
        """As `hostagent.daemon.loop.Wake`. Called just before a pass: events from now on belong to the next one."""
        self._began, self._began_at = time.monotonic(), time.time()
        self._read_events(self._began)
        logs = {_LOG: self._log.answer(), _KERNEL_WORDS: self._log.words()} if self._log else {}
        return {**self._answer_cache.answers(), **{question: answer for question, answer in logs.items() if answer is not None}}

    def passed(self, done: Pass, files: tuple[str, ...]) -> None:
        if self._log:
            self._log.start_from(done.answers.get(_LOG), done.answers.get(_KERNEL_WORDS))
        places = Places(self._root)
        self._answer_cache.keep(places, done.answers, self._began_at)
        own = (*(one for one in files if one.startswith("/")), *((self._place.snapshot,) if self._place.snapshot else ()))
        self._files.watch(places, _paths(done.answers) if not self._place.snapshot else (), own, self._began_at)
        pairs, taken = pairs_of(done.answers), interfaces_of_readers(done.answers)
        self._of_readers = None if taken is None else taken.union(name for name, _ in pairs & self._pairs)
        self._pairs = pairs
        findings = tuple((one.id, one.subject, one.code, one.outcome) for one in done.report.findings)
        self._spend(is_same=findings == self._findings)
        self._findings = findings
        self._schedule = self._after_pass()

    def _spend(self, *, is_same: bool) -> None:
        """A pass with other findings refills all buckets, so that flapping is detected. A replaced recording costs no token."""
        if not is_same:
            self._buckets = Buckets()
        elif not self._place.snapshot and self._trigger not in _BY_TIME and self._trigger != "start":
            self._buckets = self._buckets.spend(self._trigger, time.monotonic())

    def skipped(self) -> None:
        self._spend(is_same=True)
        self._schedule = self._after_pass()
        if self._place.snapshot:
            self._files.watch(Places(self._root), (), (self._place.snapshot,))

    def _after_pass(self, confirm_s: "float | None" = None) -> Schedule:
        done = Done(self._began, time.monotonic(), self._in_a_row)
        return after_pass(done, self._interval_s, random.random(), confirm_s, self._buckets)  # noqa: S311

    def wait(self, confirm_s: "float | None", tick: Callable[[], None]) -> Trigger:
        """Until a pass is due."""
        if confirm_s is not None:
            self._schedule = self._after_pass(confirm_s)
        poll = select.poll()
        look_at = time.monotonic()
        for descriptor in (one.descriptor for one in (self._log, self._devices, self._links) if one):
            if descriptor >= 0:
                poll.register(descriptor, select.POLLIN)
        while True:
            now = time.monotonic()
            if now >= look_at:
                tick()
                self._look(now)
                look_at = now + _LOOK_S
            while self._signals:
                self._schedule = self._schedule.add_event(self._signals.popleft(), now)
            due, trigger = self._schedule.due
            if now >= due:
                self._in_a_row = 0 if trigger in _BY_TIME else self._in_a_row + 1
                self._trigger = trigger
                return trigger
            next_at = min(due, look_at)
            if self._ready_at is None:
                self._ready_at = time.monotonic() if poll.poll(max(0.0, next_at - now) * 1000) else None
                continue
            read_at = self._ready_at + (_IDLE_READ_AFTER_S if self._ready_at < self._idle_until else _READ_AFTER_S)
            if now < read_at:
                time.sleep(max(0.0, min(next_at, read_at) - now))
            else:
                self._read_announced(self._ready_at)

    def _read_events(self, now: float) -> None:
        self._read_announced(now)
        self._look(now)

    def _look(self, now: float) -> None:
        """Poll the sources without notification."""
        if self._log and self._log.descriptor < 0:
            self._read_log(now)
        if self._files.look():
            self._answer_cache.configuration_changed()
            self._schedule = self._schedule.add_event("configuration", now)

    def _read_announced(self, now: float) -> None:
        self._ready_at, before = None, self._schedule
        self._read_log(now)
        if self._devices and self._devices.look():
            self._schedule = self._schedule.add_event("uevent", now)
        if self._links and self._links.look(self._of_readers):
            self._schedule = self._schedule.add_event("link", now)
        self._idle_until = 0.0 if self._schedule is not before else time.monotonic() + _IDLE_S

    def _read_log(self, now: float) -> None:
        for one in sorted(self._log.look(now)) if self._log else ():
            self._schedule = self._schedule.add_event(_TRIGGERS[one], now)


def interfaces_of_readers(answers: Mapping[tuple[str, ...], Any]) -> "frozenset[str] | None":
    """Interfaces that readers query, those below and above them, and those with an address in a network; None where a pass could not list
    them. Host ends of pods' veths have no address, a host address, or a link-local one.
    """
    if any(isinstance(answers.get(question, _NONE), Unread) for question in (_DEVICES, _OTHERS)):
        return None
    found: set[str] = set()
    for question, answer in answers.items():
        if question[:2] != _DEVICE or len(question) != len(_DEVICE) + 1:
            continue
        found.add(question[2])
        if isinstance(answer, dict):
            found.update(answer.get("lower", ()))
            found.update(name for name in (answer.get("master"), answer.get("parent")) if isinstance(name, str) and name)
    return frozenset(found | _addressed(answers.get(("network", "addresses"))))


def _addressed(rows: Any) -> "set[str]":
    found: set[str] = set()
    for names, text, prefix in rows if isinstance(rows, list) else ():
        address = ipaddress.ip_address(text)
        if not address.is_link_local and prefix < address.max_prefixlen:
            found.update(name.partition(":")[0] for name in names.split())  # eth0:1 is a label of eth0
    return found


def pairs_of(answers: Mapping[tuple[str, ...], Any]) -> "frozenset[tuple[str, str]]":
    """Name and index of software interfaces with both ends in this network namespace: those of pods have one end in another. An interface
    present in two passes is part of the host.
    """
    rows = answers.get(_OTHERS)
    words = [row.split() for row in rows if isinstance(row, str)] if isinstance(rows, list) else []
    ends = {index: (name, other) for name, index, _, other, *_ in (one for one in words if len(one) > _OTHER_END) if index != other}
    return frozenset((name, index) for index, (name, other) in ends.items() if ends.get(other, ("", ""))[1] == index)


def _paths(answers: Mapping[tuple[str, ...], Any]) -> Iterable[str]:
    """Paths of configuration that a pass looked for, present or not, without those that timed out."""
    found = {
        question[1]
        for question, answer in answers.items()
        if len(question) > 1
        and question[0] in _OF_FILES
        and question[1].startswith(_BELOW)
        and not (isinstance(answer, Unread) and answer.why == "timeout")
    }
    return sorted({*found, _WORDS})
