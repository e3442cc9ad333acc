"""Snapshots: record a host, compare two, turn one into a test."""

import difflib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from hostagent.app import examine
from hostagent.collect import READERS, collect
from hostagent.errors import HostagentError
from hostagent.profile import Loaded
from hostagent.report import Report
from hostagent.sinks.digest import moment
from hostagent.source import Source
from hostagent.source.base import Backend
from hostagent.source.redact import redacted
from hostagent.source.tape import RECORDED_BY, SCHEMA_VERSION, RecordingBackend, ReplayBackend, Tape
from hostagent.visible import visible


def record(reading: Backend, key: bytes, *, redact: bool = True) -> Tape:
    """Ask a host everything the collectors ask, and keep the answers. Closes the backend."""
    recording = RecordingBackend(reading)
    try:
        recording.ask("host")
        collect(Source(recording), READERS)
    finally:
        recording.close()
    answers = redacted(recording.answers, key) if redact else recording.answers
    return Tape(SCHEMA_VERSION, RECORDED_BY, time.time(), reading.kind, redact, answers)


def differences(left: Tape, right: Tape) -> Iterator[str]:
    """Line by line: questions only one tape knows, and answers that differ. Clocks and counters always do: they are left out."""
    for question in sorted(set(left.answers) | set(right.answers)):
        before, after = _timeless(question, left), _timeless(question, right)
        if before == after:
            continue
        yield visible(question)
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


def expectation(report: Report) -> dict[str, Any]:
    """What ``expect.yaml`` of a recorded host holds: verdicts, and the ids of everything that is not pass, skip or off."""
    by_outcome: dict[str, set[str]] = {"fail": set(), "warn": set(), "unknown": set()}
    for one in report.findings:
        if one.outcome in by_outcome:
            by_outcome[one.outcome].add(one.id)
    return {
        "profile": report.profile.name,
        "single_node": report.verdict.single_node,
        "multi_node": report.verdict.multi_node,
        **{outcome: sorted(ids) for outcome, ids in by_outcome.items()},
    }


def adopt(tape: Tape, text: str, directory: str, loaded: Loaded) -> dict[str, Any]:
    """Write ``tape.json`` and ``expect.yaml`` into `directory`, which must not exist. Raises ``HostagentError``."""
    import yaml

    expected = expectation(examine(ReplayBackend(tape), loaded))
    try:
        os.makedirs(directory)
        try:
            with open(os.path.join(directory, "tape.json"), "w", encoding="utf-8") as stream:
                stream.write(text)
            with open(os.path.join(directory, "expect.yaml"), "w", encoding="utf-8") as stream:
                yaml.safe_dump(expected, stream, sort_keys=False)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
    except OSError as error:
        raise HostagentError(
            f"cannot write {directory}: {(error.strerror or str(error)).lower()}", "Name a directory that does not exist yet"
        ) from error
    return expected


def summary(tape: Tape) -> Iterable[str]:
    """What a tape holds, in a few lines."""
    unread = [key for key, value in tape.answers.items() if isinstance(value, dict) and "unread" in value]
    yield f"recorded by  {visible(tape.recorded_by)}"
    yield f"recorded at  {moment(tape.recorded_at)}"
    yield f"kind         {tape.kind}"
    yield f"redacted     {'yes' if tape.redacted else 'no'}"
    yield f"questions    {len(tape.answers)}, of which {len(unread)} could not be answered"
