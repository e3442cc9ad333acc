"""Where a command reads a host, and the pass over it. Light: a live pass should start before all else, and the teller of the daemon, which
reads nothing, has none of what reading needs.
"""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from hostagent.core.deadline import time_limit, within
from hostagent.core.errors import HostagentError, OutOfTime
from hostagent.core.vocabulary import Kind
from hostagent.host.stuck_processes import StuckProcesses

if TYPE_CHECKING:
    from hostagent.engine.collection import Reading
    from hostagent.facts.hostfacts import Earlier
    from hostagent.host.answer_file import Question
    from hostagent.sandbox.worker import HungWorker, Worker

NOTHING_LEFT = StuckProcesses()


class Evidence(NamedTuple):
    """At most one of the three directories or files; none of them is this machine."""

    host_root: str = ""  # a live host whose / is mounted there
    root: str = ""  # an image tree that is not running
    kernel: str = ""  # the kernel an image will boot
    snapshot: str = ""  # a recorded host
    deadline_s: float = 30
    host_has: tuple[str, ...] = ("/proc", "/sys")  # what must be there below `host_root`
    environment: Mapping[str, Any] | None = None  # of the job that is judged, see `hostagent.domains.nccl.env_file`
    on_answer: "Callable[[Question, str, float], None] | None" = None  # see `hostagent.engine.collection.Stopwatch`

    @property
    def is_this_machine(self) -> bool:
        return not (self.host_root or self.root or self.snapshot)

    @property
    def known(self) -> "dict[tuple[str, ...], Any]":
        """What is answered before the host is asked."""
        return {} if self.environment is None else {("environment",): self.environment}


@contextlib.contextmanager
def open_host(
    evidence: Evidence,
    kinds: Iterable[str] = (),
    known: "Mapping[Question, Any] | None" = None,
    left: StuckProcesses = NOTHING_LEFT,
    earlier: "Mapping[str, Earlier] | None" = None,
) -> "Iterator[Reading]":
    """One pass over the host of `evidence`, under way when this returns; on leaving, whatever still reads is ended.

    `kinds` are names of fact types (all when none is named): only what they need is read and started. `known`: answers that are there
    already, by question; nobody is asked these. `left`: what earlier passes left behind. `earlier`: facts of the pass before, {} at the
    first of several.
    Raises ``HostagentError`` for a file of another kind, as its pass does for a directory of another kind; ``RuntimeError`` in a
    process with threads.
    """
    kinds = tuple(kinds)
    if evidence.snapshot:
        yield _replay(evidence, kinds, earlier)
        return
    with _forked(evidence, kinds, {**evidence.known, **(known or {})}, left, earlier) as reading:
        yield reading


def _replay(evidence: Evidence, kinds: tuple[str, ...], earlier: "Mapping[str, Earlier] | None") -> "Reading":
    """Loading counts: somebody else's snapshot may have millions of answers."""
    from dataclasses import replace

    from hostagent.engine.collection import InProcess
    from hostagent.host import recording

    deadline = within(evidence.deadline_s)
    try:
        with time_limit(deadline.seconds):
            recorded = recording.load(evidence.snapshot)
    except OutOfTime as error:
        raise HostagentError(f"{evidence.snapshot} was not loaded in {deadline.seconds:g} s", "Give it more with --deadline") from error
    answers = {**recorded.answers, **{recording.question(*asked): recording.encode(answer) for asked, answer in evidence.known.items()}}
    lacks = ": give 'snapshot save' the same --env-file" if evidence.known else ""
    backend = recording.ReplayBackend(replace(recorded, answers=answers), lacks)
    reading = InProcess(backend, kinds, deadline=deadline, replayed=True, recorded_at=recorded.recorded_at)
    reading.before = earlier
    reading.on_answer = evidence.on_answer
    return reading


@contextlib.contextmanager
def _forked(
    evidence: Evidence,
    kinds: tuple[str, ...],
    known: "Mapping[Question, Any]",
    left: StuckProcesses,
    earlier: "Mapping[str, Earlier] | None",
) -> "Iterator[Reading]":
    from hostagent.engine.collect import READERS, lanes
    from hostagent.engine.collector_process import Forked, Place
    from hostagent.engine.questions import DOMAINS, live_backend
    from hostagent.host.files import Files
    from hostagent.host.live import LiveBackend, refuse_wrong_root
    from hostagent.host.paths import Root
    from hostagent.sandbox.worker import HungWorker, Worker

    root, kind = _place(evidence)
    deadline = within(evidence.deadline_s)

    def workers(hung: "Mapping[str, int]") -> "Sequence[Worker | HungWorker]":
        if kind == "image":
            return ()
        wanted = [DOMAINS.lanes[name] for name in lanes(kinds or READERS)]
        if kind == "live":  # another root may be on a disk that hangs: there each worker looks for itself
            files = Files(Root())
            wanted = [lane for lane in wanted if lane.idle(files) is None]
        stuck = {**left.lanes, **hung}
        return [HungWorker(lane, stuck[lane.name]) if lane.name in stuck else Worker(lane, root, deadline.ends) for lane in wanted]

    def backend(started: "Sequence[Worker | HungWorker]") -> LiveBackend:
        if kind != "live":
            refuse_wrong_root(root, kind, evidence.kernel, evidence.host_has)
        return live_backend(root, kind, workers=started, deadline=deadline, kernel=evidence.kernel)

    reading = Forked(backend, Place(root, kind, known, left, earlier), kinds, deadline, workers)
    reading.on_answer = evidence.on_answer
    try:
        reading.start()
        yield reading
    finally:
        reading.close()


def _place(evidence: Evidence) -> tuple[str, Kind]:
    """An absolute path, because those who read work in ``/``; and what is there."""
    if evidence.root:
        return os.path.abspath(evidence.root), "image"
    return (os.path.abspath(evidence.host_root), "host-root") if evidence.host_root else ("/", "live")
