"""Record a host: every question and answer of one pass, redacted."""

import time
from typing import Any

from hostagent.reading import Reading
from hostagent.snapshot.redact import redacted
from hostagent.source.tape import RECORDED_BY, SCHEMA_VERSION, Tape, encode, question


def record(reading: Reading, key: bytes, *, redact: bool = True) -> Tape:
    """Everything that the pass asked the host, with the answers."""
    kind = reading.collect().facts.kind
    answers: dict[str, Any] = {question(*asked): encode(answer) for asked, answer in reading.answers.items()}
    return Tape(SCHEMA_VERSION, RECORDED_BY, time.time(), kind, redact, redacted(answers, key) if redact else answers)
