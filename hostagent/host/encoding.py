"""Encodings between processes of hostagent.

With equal privileges marshal, which is fast but unsafe for untrusted data. A process that dropped privileges because it reads untrusted
files is itself untrusted: it sends JSON of bounded size, which is validated.
"""

import json
import marshal
from collections.abc import Callable
from typing import Any, NamedTuple

from hostagent.core.answers import MIB, Answer
from hostagent.core.unread import Unread

#: Bytes of one value, and of all values of one process. A snapshot has at most 16 MiB.
STRICT_BYTES = 16 * MIB
STRICT_TOTAL = 64 * MIB
#: Overhead of a value in JSON, and the most bytes of a task.
_VALUE_BYTES, _TASK_BYTES = 64, 64 * 1024


class Coding(NamedTuple):
    """`loads` raises ``ValueError``. `pack` and `unpack` convert an answer of a host for `dumps` and from `loads`."""

    dumps: Callable[[Any], bytes]
    loads: Callable[[bytes], Any]
    pack: "Callable[[Answer | Unread], Any]"
    unpack: "Callable[[Any], Answer | Unread]"
    cost: Callable[[bytes], int]  # bytes that loading a value takes
    most_bytes: int  # of one value
    most_total: int  # of the costs
    most_task: int  # bytes of a task for a runner


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
