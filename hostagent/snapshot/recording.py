"""Record a host: every question of one pass, with what its readers used of the answer, redacted."""

import hashlib
import hmac
import time
from typing import Any

from hostagent.reading import Reading
from hostagent.snapshot.keeping import kept
from hostagent.snapshot.redact import redacted
from hostagent.source.tape import RECORDED_BY, SCHEMA_VERSION, Tape, encode, question


def record(reading: Reading, key: bytes, *, redact: bool = True) -> Tape:
    """Everything that the pass asked the host, with what was used of the answers; redacted under `key` unless told otherwise."""
    kind = reading.collect().facts.kind
    used = kept(reading.answers, kind, lambda text: hmac.new(key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest())
    answers: dict[str, Any] = {question(*asked): encode(answer) for asked, answer in used.items()}
    return Tape(SCHEMA_VERSION, RECORDED_BY, time.time(), kind, redact, redacted(answers, key) if redact else answers)
