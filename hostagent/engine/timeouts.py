"""Timeouts of the collector process, by its current question."""

import math

from hostagent.engine.questions import DOMAINS
from hostagent.host.answer_file import Question
from hostagent.host.live import PROGRAM_TIMEOUT_S

#: Seconds that the host gets for one question that the kernel answers: a healthy one takes less than a millisecond.
_QUESTION_S = 2.0
#: The same for a program, on top of its own deadline: starting it reads files.
_PROGRAM_S = 4.0 + PROGRAM_TIMEOUT_S


def allowed_s(asked: Question) -> float:
    """Seconds that a question may take before the child that asks it is abandoned; its own deadline where it has one."""
    method, path = asked[0], asked[1] if len(asked) > 1 else ""
    if DOMAINS.lane_of(method, path):
        return math.inf
    return _PROGRAM_S if method in ("run", "kernel_log", "kernel_words") else _QUESTION_S
