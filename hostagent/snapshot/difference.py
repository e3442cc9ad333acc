"""What two snapshots answer otherwise, and what one holds, as a person reads it."""

import difflib
import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from hostagent.sinks.digest import moment
from hostagent.source.tape import Tape
from hostagent.visible import visible


def differences(left: Tape, right: Tape) -> Iterator[str]:
    """Line by line: questions only one tape knows, and answers that differ. Clocks and counters always do: they are left out."""
    for asked in sorted(set(left.answers) | set(right.answers)):
        before, after = _timeless(asked, left), _timeless(asked, right)
        if before == after:
            continue
        yield visible(asked)
        yield from _answer_differences(before, after)


def _timeless(question: str, tape: Tape) -> Any:
    answer = tape.answers.get(question)
    match question, answer:
        case "host", {"json": {**facts}}:
            return {"json": {key: value for key, value in facts.items() if key != "now"}}
        case "read /proc/stat", {"text": str(text)}:  # when the host was started is all that is read of it
            return {"text": "".join(line for line in text.splitlines(keepends=True) if line.startswith("btime "))}
    return answer


def _answer_differences(before: Any, after: Any) -> Iterator[str]:
    for line in islice(difflib.unified_diff(shown(before), shown(after), n=0, lineterm=""), 2, None):
        if not line.startswith("@@"):
            yield f"  {line}"


def shown(encoded: Any) -> "list[str]":
    """One encoded answer as a person reads it, safe for a terminal: a tape may come from anywhere. Tabs move nothing back: they stay."""
    return ["\t".join(visible(part) for part in line.split("\t")) for line in _text(encoded).rstrip("\n").split("\n")]


def _text(encoded: Any) -> str:
    if encoded is None:
        return "(not recorded)"
    if isinstance(encoded, dict) and set(encoded) == {"text"}:
        return str(encoded["text"])
    if isinstance(encoded, dict) and "unread" in encoded:
        return f"(unread: {encoded['unread']}: {encoded.get('detail', '')})"
    if isinstance(encoded, dict) and set(encoded) == {"base64"}:
        return f"(binary: {encoded['base64']})"
    return json.dumps(encoded.get("json", encoded) if isinstance(encoded, dict) else encoded, indent=1, ensure_ascii=False)


def summary(tape: Tape) -> Iterable[str]:
    """What a tape holds, in a few lines."""
    unread = [key for key, value in tape.answers.items() if isinstance(value, dict) and "unread" in value]
    yield f"recorded by  {visible(tape.recorded_by)}"
    yield f"recorded at  {moment(tape.recorded_at)}"
    yield f"kind         {tape.kind}"
    yield f"redacted     {'yes' if tape.redacted else 'no'}"
    yield f"questions    {len(tape.answers)}, of which {len(unread)} could not be answered"
