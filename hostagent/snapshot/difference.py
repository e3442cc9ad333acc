"""Compares the answers of two snapshots, and prints those of one, for people."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

from hostagent.core.escape import visible
from hostagent.engine.report.times import moment
from hostagent.host.recording import Tape

#: Lines of an answer that are compared one by one: more would take too long, and is not read either.
_MOST_LINES = 20_000


def packed(tape: Tape) -> "dict[str, str]":
    """The answers of a tape as texts, which are small, without clocks and counters, which always differ. Two tapes may fill the memory."""
    return {asked: json.dumps(_timeless(asked, answer), ensure_ascii=False) for asked, answer in tape.answers.items()}


def differences(left: Mapping[str, str], right: Mapping[str, str]) -> Iterator[str]:
    """Line by line, of two `packed` tapes: questions only one tape knows, and answers that differ."""
    for asked in sorted({*left, *right}):
        before, after = left.get(asked, "null"), right.get(asked, "null")
        if before != after:
            yield visible(asked)
            yield from _answer_differences(json.loads(before), json.loads(after))


def _timeless(question: str, answer: Any) -> Any:
    match question, answer:
        case "host", {"json": {**facts}}:
            return {"json": {key: value for key, value in facts.items() if key != "now"}}
        case "read /proc/stat", {"text": str(text)}:  # when the host was started is all that is read of it
            return {"text": "".join(line for line in text.splitlines(keepends=True) if line.startswith("btime "))}
    return answer


def _answer_differences(before: Any, after: Any) -> Iterator[str]:
    left, right = (list(islice(shown(one), _MOST_LINES + 1)) for one in (before, after))
    if max(len(left), len(right)) > _MOST_LINES:
        yield f"  (more than {_MOST_LINES} lines)"
        return
    for line in islice(difflib.unified_diff(left, right, n=0, lineterm=""), 2, None):
        if not line.startswith("@@"):
            yield f"  {line}"


def shown(encoded: Any) -> Iterator[str]:
    """One encoded answer as a person reads it, safe for a terminal: a tape may come from anywhere. Tabs move nothing back: they stay."""
    return ("\t".join(visible(part) for part in line.split("\t")) for line in _lines(encoded))


def _lines(encoded: Any) -> Iterator[str]:
    if encoded is None:
        yield "(not recorded)"
    elif not isinstance(encoded, dict):
        yield from _pieces(encoded)
    elif set(encoded) - {"kept"} == {"text"}:
        yield from str(encoded["text"]).rstrip("\n").split("\n")
    elif "unread" in encoded:
        yield f"(unread: {encoded['unread']}: {encoded.get('detail', '')})"
    elif set(encoded) - {"kept"} == {"base64"}:
        yield f"(binary: {encoded['base64']})"
    else:
        yield from _pieces(encoded.get("json", encoded))
    if isinstance(encoded, dict) and isinstance(encoded.get("kept"), list):
        yield f"(kept of it: {', '.join(map(str, encoded['kept']))})"


def _pieces(value: Any) -> Iterator[str]:
    """The lines of a JSON document, one after the other: a tape may hold two million values."""
    line = ""
    for piece in json.JSONEncoder(indent=1, ensure_ascii=False).iterencode(value):
        *whole, line = f"{line}{piece}".split("\n")
        yield from whole
    yield line


def summary(tape: Tape) -> Iterable[str]:
    """What a tape holds, in a few lines."""
    unread = [key for key, value in tape.answers.items() if isinstance(value, dict) and "unread" in value]
    yield f"recorded by  {visible(tape.recorded_by)}"
    yield f"recorded at  {moment(tape.recorded_at)}"
    yield f"kind         {tape.kind}"
    yield f"redacted     {'yes' if tape.redacted else 'no'}"
    yield f"questions    {len(tape.answers)}, of which {len(unread)} could not be answered"
