"""How two processes of ours write values to each other.

Those of the same rights by marshal, which is fast, and says of itself that it is not for data of others. One that gave up rights, because
it reads what others wrote, is such another: from it comes JSON of a bounded size, which is believed by its shape alone.
"""

import json
import marshal
from collections.abc import Callable
from typing import Any, NamedTuple

from hostagent.core.answers import MIB, Answer
from hostagent.core.unread import Unread

#: Of one value, and of all that one process says. Of a snapshot 16 MiB are read.
STRICT_BYTES = 16 * MIB
STRICT_TOTAL = 64 * MIB
#: What a value in JSON costs beside its bytes, and the most that one task has.
_VALUE_BYTES, _TASK_BYTES = 64, 64 * 1024


class Coding(NamedTuple):
    """`loads` raises ``ValueError``. `pack` and `unpack`: an answer of a host, as `dumps` takes it and `loads` gives it."""

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]
    pack: "Callable[[Answer | Unread], Any]"
    unpack: "Callable[[Any], Answer | Unread]"
    cost: Callable[[bytes], int]  # of a value to who loads it, in bytes
    most_bytes: int  # of one value
    most_total: int  # of the costs
    most_task: int  # bytes of what a runner is asked


def _pack(answer: "Answer | Unread") -> Any:
    return ((answer.why, answer.detail),) if isinstance(answer, Unread) else answer


def _unpack(packed: Any) -> "Answer | Unread":
    return Unread(*packed[0]) if isinstance(packed, tuple) else packed


def _to_json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _from_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except RecursionError as error:
        raise ValueError("found too many levels") from error


def _encoded(answer: "Answer | Unread") -> Any:
    from hostagent.host.recording import encode

    return encode(answer)


def _decoded(packed: Any) -> "Answer | Unread":
    from hostagent.host.recording import decode

    return decode(packed, "")


def _cost(data: bytes) -> int:
    return len(data) + _VALUE_BYTES * sum(map(data.count, (b",", b"[", b"{")))


_NO_BOUND = 1 << 32
FAST = Coding(marshal.dumps, marshal.loads, _pack, _unpack, len, _NO_BOUND, _NO_BOUND, _NO_BOUND)
STRICT = Coding(_to_json, _from_json, _encoded, _decoded, _cost, STRICT_BYTES, STRICT_TOTAL, _TASK_BYTES)
