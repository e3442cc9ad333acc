"""Tapes: the raw answers of one host in one file, recorded, written, read and replayed."""

import base64
import json
import os
from collections.abc import Mapping
from typing import Any, cast, get_args

from hostagent import __version__
from hostagent.errors import HostagentError
from hostagent.facts.frozen import frozen
from hostagent.facts.unread import Unread, Why
from hostagent.source.base import MIB, Answer
from hostagent.source.keep import Filtered, Keep
from hostagent.visible import visible
from hostagent.vocabulary import Kind

SCHEMA_VERSION = 1
MAX_BYTES = 128 * MIB
#: What this program calls itself on a tape.
RECORDED_BY = f"hostagent {__version__}"


@frozen
class Tape:
    """Questions (``read /proc/version``) and what the host answered, with who recorded it and when."""

    schema_version: int
    recorded_by: str  # hostagent and its version
    recorded_at: float  # seconds since the epoch
    kind: Kind
    redacted: bool
    answers: Mapping[str, Any]  # encoded: see `encode`


class ReplayBackend:
    """Answers from a tape. A question the tape does not know is not-recorded, never absent."""

    def __init__(self, tape: Tape) -> None:
        self._tape = tape

    @property
    def kind(self) -> Kind:
        return self._tape.kind

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        key = question(method, *arguments)
        if key not in self._tape.answers:
            return Unread("not-recorded", f"the snapshot does not know '{key}'{_older(self._tape.recorded_by)}")
        return decode(self._tape.answers[key], key)


def _older(recorded_by: str) -> str:
    """Why another version's tape may lack a question. Who recorded it is any text: a tape may come from anywhere."""
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

    Beside a part of an answer stands ``kept``: its kind, and the names of what was kept.
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
    """The reverse of `encode`; what is not an encoded answer is an error, not a crash."""
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
    """One JSON document, keys in order: two tapes can be compared line by line."""
    head = {name: getattr(tape, name) for name in ("schema_version", "recorded_by", "recorded_at", "kind", "redacted")}
    return json.dumps({**head, "answers": dict(sorted(tape.answers.items()))}, indent=1, ensure_ascii=False) + "\n"


def load(path: str) -> Tape:
    """The tape in `path`, or in ``tape.json`` of that directory. Raises ``HostagentError``."""
    from hostagent.typed import ShapeError, build

    path = os.path.join(path, "tape.json") if os.path.isdir(path) else path
    next_step = "Record one with 'hostagent snapshot save FILE'"
    try:
        data = json.loads(_text(path))
        if not isinstance(data, dict) or data.get("schema_version") != SCHEMA_VERSION:
            raise HostagentError(f"{path} is no snapshot of schema_version {SCHEMA_VERSION}", next_step)
        tape: Tape = build(Tape, data, f"snapshot {path}")
    except OSError as error:
        raise HostagentError(f"cannot read the snapshot {path}: {(error.strerror or str(error)).lower()}", next_step) from error
    except ShapeError as error:
        raise HostagentError(str(error), next_step) from error
    except (ValueError, RecursionError) as error:
        raise HostagentError(f"{path} is no snapshot: {str(error) or type(error).__name__}", next_step) from error
    return tape


def _text(path: str) -> str:
    from hostagent.source.files import Files
    from hostagent.source.paths import Root

    data = Files(Root()).read(os.path.abspath(path), str(MAX_BYTES))
    if isinstance(data, Unread):
        raise HostagentError(f"cannot read the snapshot {path}: {data.detail}", "Record one with 'hostagent snapshot save FILE'")
    return str(data.decode("utf-8"))
