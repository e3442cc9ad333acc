"""Tapes: the raw answers of one host in one file, recorded, written, read and replayed."""

import base64
import io
import json
import math
import os
import re
from collections.abc import Mapping
from typing import Any, NoReturn, cast, get_args

from hostagent import __version__
from hostagent.core.answers import MIB, Answer
from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.frozen import frozen
from hostagent.core.retention import Filtered, Keep
from hostagent.core.smallfile import STANDARD_INPUT, read_standard_input
from hostagent.core.unread import Unread, Why
from hostagent.core.vocabulary import Kind
from hostagent.host.added_questions import is_newer
from hostagent.host.source import MAX_TIME

SCHEMA_VERSION = 1
#: Bytes of an untrusted snapshot, at most. One of 64 GPUs and 2,000 packages has less than a megabyte.
MAX_BYTES = 16 * MIB
_OTHER_VERSION = "Read it with the hostagent that recorded it, or record it again with 'hostagent snapshot save FILE'"
_MAX_VALUES, _MAX_DEPTH, _MAX_DIGITS = 2_000_000, 32, 40
#: So few values can be as deep as the parser goes.
_SHALLOW = 20_000
#: The recorder on tapes of this version.
RECORDED_BY = f"hostagent {__version__}"


@frozen
class Tape:
    """Questions (``read /proc/version``) and the host's answers, with recorder and time."""

    schema_version: int
    recorded_by: str  # hostagent and its version
    recorded_at: float  # seconds since the epoch
    kind: Kind
    redacted: bool
    answers: Mapping[str, Any]  # encoded: see `encode`
    questions: int = 1  # the set of questions that the recorder knew: see `hostagent.host.added_questions`


class ReplayBackend:
    """Answers from a tape. A question that is not on it is not-recorded, or older-recording, never absent."""

    def __init__(self, tape: Tape, lacks: str = "") -> None:
        """`lacks`: why the tape may lack a question."""
        self._tape = tape
        self._lacks = lacks

    @property
    def kind(self) -> Kind:
        return self._tape.kind

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        key = question(method, *arguments)
        if key not in self._tape.answers:
            if is_newer(key, self._tape.questions):
                return Unread("older-recording", f"the snapshot was recorded before '{key}' was read")
            return Unread("not-recorded", f"the snapshot does not know '{key}'{self._lacks or _older(self._tape.recorded_by)}")
        return decode(self._tape.answers[key], key)


def _older(recorded_by: str) -> str:
    """Why another version's tape may lack a question. `recorded_by` is untrusted text."""
    if recorded_by == RECORDED_BY:
        return ""
    return f": recorded by {visible(recorded_by[:40].removeprefix('hostagent '))}, which did not read this: record again"


def question(method: str, *arguments: str) -> str:
    """
    The key of a question on a tape.

    >>> question("read", "/proc/version")
    'read /proc/version'
    """
    return " ".join((method, *arguments))


def encode(answer: "Answer | Unread") -> Any:
    """An answer as JSON: bytes are ``{"text": …}`` where they are UTF-8, else ``{"base64": …}``; values ``{"json": …}``.

    A filtered answer also has ``kept``: its kind, and the names that were kept.
    """
    if isinstance(answer, Filtered):
        return {**encode(answer.answer), "kept": [answer.kept.kind, *answer.kept.names]}
    if isinstance(answer, Unread):
        return {"unread": answer.why, "detail": answer.detail}
    if isinstance(answer, bytes):
        try:
            return {"text": answer.decode("utf-8")}
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(answer).decode("ascii")}
    return {"json": answer}


def decode(encoded: Any, key: str) -> "Answer | Unread":
    """The reverse of `encode`; an ``Unread`` (error) for anything else."""
    match encoded:
        case {"kept": [str(kind), *names], **rest} if rest and "kept" not in rest and all(isinstance(name, str) for name in names):
            answer = decode(rest, key)
            return answer if isinstance(answer, Unread) else Filtered(answer, Keep(kind, tuple(names)))
        case {"unread": str(why), "detail": str(detail), **rest} if not rest and why in get_args(Why):
            return Unread(cast("Why", why), detail)
        case {"text": str(text), **rest} if not rest:
            return text.encode("utf-8", "replace")
        case {"base64": str(text), **rest} if not rest:
            try:
                return base64.b64decode(text, validate=True)
            except ValueError:
                return Unread("error", f"the snapshot's answer to '{key}' is not base64")
        case {"json": value, **rest} if not rest:
            return value
    return Unread("error", f"the snapshot's answer to '{key}' has no known form")


def dumps(tape: Tape) -> str:
    """One JSON document, keys in order: two tapes can be compared line by line. Invalid Unicode becomes a question mark."""
    head = {name: getattr(tape, name) for name in ("schema_version", "recorded_by", "recorded_at", "kind", "redacted", "questions")}
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="replace", newline="\n")
    for piece in json.JSONEncoder(indent=1, ensure_ascii=False).iterencode({**head, "answers": dict(sorted(tape.answers.items()))}):
        stream.write(piece)  # one by one: joined they take ten times the room of the text
    stream.write("\n")
    stream.seek(0)
    return stream.read()


def load(path: str) -> Tape:
    """The tape in `path`, in ``tape.json`` of that directory, or in standard input where `path` is ``-``. Raises ``HostagentError``."""
    from hostagent.core.typed import ShapeError, build

    path = os.path.join(path, "tape.json") if os.path.isdir(path) else path
    next_step = "Record one with 'hostagent snapshot save FILE'"
    try:
        read = _data(path)
        path = "standard input" if path == STANDARD_INPUT else path
        data = parse_tape(read)
        if not isinstance(data, dict) or "answers" not in data or "schema_version" not in data:
            kind = "a report" if isinstance(data, dict) and "findings" in data else "JSON of another kind"
            raise HostagentError(f"{path} is not a hostagent snapshot ({kind})", next_step)
        if data["schema_version"] != SCHEMA_VERSION:
            raise HostagentError(
                f"{path} is a snapshot of schema_version {data['schema_version']!r:.20}, wanted {SCHEMA_VERSION}", _OTHER_VERSION
            )
        tape: Tape = build(Tape, data, f"snapshot {path}")
    except OSError as error:
        raise HostagentError(f"cannot read the snapshot {path}: {(error.strerror or str(error)).lower()}", next_step) from error
    except ShapeError as error:
        raise HostagentError(str(error), next_step) from error
    except json.JSONDecodeError as error:
        raise HostagentError(f"{path} is not a hostagent snapshot ({_not_json(read, error.lineno)})", next_step) from error
    except UnicodeDecodeError as error:
        raise HostagentError(f"{path} is not a hostagent snapshot (not JSON, nor any text)", next_step) from error
    except (ValueError, RecursionError) as error:
        raise HostagentError(f"{path} is not a hostagent snapshot: {str(error)[:200] or type(error).__name__}", next_step) from error
    if not abs(tape.recorded_at) < MAX_TIME:
        raise HostagentError(f"{path} is not a hostagent snapshot: recorded_at is no time", next_step)
    return tape


def _not_json(data: bytes, line: int) -> str:
    """The problem, with a line only where it may be a damaged snapshot."""
    start = data.lstrip()[:1]
    return f"damaged JSON, line {line}" if start == b"{" else "not JSON" if start else "it is empty"


def parse_tape(data: bytes) -> Any:
    """JSON of at most two million values, finite numbers and whole characters; raises ``ValueError``.

    Counted before it is parsed: a value of three bytes takes seventy times that in memory, and no timer interrupts the parser. For
    ordinary snapshots each check is one C call, faster than parsing.

    >>> parse_tape(b'{"recorded_at": NaN}')
    Traceback (most recent call last):
    ValueError: found the number NaN
    """
    values = _most_values(data)
    if values > _MAX_VALUES:
        # a string to its end, or to that of the text: so it is one pass
        values = _most_values(re.sub(rb'(?s)"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)', b"", data))
    if values > _MAX_VALUES:
        raise ValueError(f"found more than {_MAX_VALUES} values")
    text = data.decode("utf-8")
    try:
        if _may_be_too_long(data.translate(_ZEROS)):
            found = json.loads(text, parse_constant=_refuse_number, parse_int=_integer, parse_float=_finite)
        else:
            found = json.loads(text, parse_constant=_refuse_number)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    if values > _SHALLOW:
        _refuse_depth(found)
    if b"\\ud" in data or b"\\uD" in data:
        json.dumps(found, ensure_ascii=False).encode()  # a lone surrogate is a UnicodeEncodeError
    return found


_ZEROS = bytes.maketrans(b"123456789", b"000000000")
_EXPONENTS = (b"0e000", b"0e+000", b"0E000", b"0E+000")


def _may_be_too_long(zeros: bytes) -> bool:
    """Whether a text, all digits replaced by 0, may have a number with too many digits or a three-digit exponent; or a digest."""
    if b"0" * (_MAX_DIGITS + 1) in zeros:
        return True
    for exponent in _EXPONENTS:
        at = zeros.find(exponent)
        while at >= 0:
            if zeros[max(0, at - _MAX_DIGITS) : at + 1].rstrip(b"0.")[-1:] in b" ,:[-\r\n\t":
                return True
            at = zeros.find(exponent, at + 1)
    return False


def _most_values(data: bytes) -> int:
    """An upper bound on the number of values: each follows a comma or a bracket."""
    return sum(map(data.count, (b",", b"[", b"{")))


def _integer(digits: str) -> int:
    return int(digits) if len(digits) <= _MAX_DIGITS else _refuse_number(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if math.isfinite(number) else _refuse_number(digits)


def _refuse_number(digits: str) -> NoReturn:
    raise ValueError(f"found the number {digits[:_MAX_DIGITS]}{'…' * (len(digits) > _MAX_DIGITS)}")


def _refuse_depth(found: Any) -> None:
    """Raises ``ValueError`` for a deep document: written again, each of its lines begins with as many blanks."""
    level = [found]
    for _ in range(_MAX_DEPTH):
        inner = (one.values() if isinstance(one, dict) else one for one in level)
        level = [value for values in inner for value in values if isinstance(value, dict | list)]
        if not level:
            return
    raise ValueError(f"found more than {_MAX_DEPTH} levels")


def _data(path: str) -> bytes:
    if path == STANDARD_INPUT:
        return read_standard_input(MAX_BYTES)
    from hostagent.host.files import Files
    from hostagent.host.paths import Root

    data = Files(Root()).read(os.path.abspath(path), str(MAX_BYTES))
    if isinstance(data, Unread):
        raise HostagentError(f"cannot read the snapshot {path}: {data.detail}", "Record one with 'hostagent snapshot save FILE'")
    return bytes(data)
