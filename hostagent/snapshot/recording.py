"""Record a host: every question of one pass, with what its readers used of the answer, redacted."""

import hashlib
import hmac
import time
from collections.abc import Mapping

from hostagent.core.answers import Answer
from hostagent.core.deadline import Deadline, processor_limit
from hostagent.core.errors import HostagentError, OutOfTime
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.engine.collection import Reading
from hostagent.host.added_questions import CURRENT
from hostagent.host.answer_file import Question
from hostagent.host.recording import RECORDED_BY, SCHEMA_VERSION, Tape, dumps, encode, question
from hostagent.snapshot.keeping import kept, refuse_too_much
from hostagent.snapshot.people import without_job_people
from hostagent.snapshot.redact import redacted

#: Seconds of processor time for making a snapshot of a pass that took all its time.
_OWN_S = 2.5


def save(reading: Reading, key: bytes, deadline: Deadline, *, redact: bool = True) -> "tuple[Tape, str]":
    """The tape and its text. Making them may take as much processor time as the deadline leaves, at least ``_OWN_S``. Raises
    ``HostagentError`` where that is too little, or there is too much.
    """
    kind = reading.collect().facts.kind
    seconds = max(_OWN_S, deadline.left_s)
    ends = time.process_time() + seconds
    try:
        with processor_limit(seconds):
            tape = _tape(reading.answers, kind, key, redact=redact)
            text = dumps(tape)
        if time.process_time() < ends:  # a reader may have taken the alarm for its own end
            return tape, text
    except OutOfTime:
        pass
    raise HostagentError(f"the snapshot was not made in {seconds:.1f} s of processor time, after reading", "Give it more with --deadline")


def record(reading: Reading, key: bytes, *, redact: bool = True) -> Tape:
    """Everything that the pass asked the host, with what was used of the answers; redacted under `key` by default."""
    kind = reading.collect().facts.kind
    return _tape(reading.answers, kind, key, redact=redact)


def _tape(given: "Mapping[Question, Answer | Unread]", kind: Kind, key: bytes, *, redact: bool) -> Tape:
    used = kept(given, kind, lambda text: hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest())
    refuse_too_much(used)
    answers = without_job_people({question(*asked): encode(answer) for asked, answer in used.items()}, key)
    return Tape(SCHEMA_VERSION, RECORDED_BY, time.time(), kind, redact, redacted(answers, key) if redact else answers, CURRENT)
