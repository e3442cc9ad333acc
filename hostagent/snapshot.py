"""Snapshots: record a host, compare two, turn one into a test."""

import difflib
import json
import os
import time
from collections.abc import Iterable, Iterator
from typing import Any

from hostagent import __version__
from hostagent.app import examine
from hostagent.collect import READERS, collect
from hostagent.errors import HostagentError
from hostagent.profile import Loaded
from hostagent.report import Report
from hostagent.source import Source
from hostagent.source.base import Backend
from hostagent.source.redact import Redactor
from hostagent.source.tape import SCHEMA_VERSION, RecordingBackend, ReplayBackend, Tape


def record(reading: Backend, key: bytes, *, redact: bool = True) -> Tape:
    """Ask a host everything the collectors ask, and keep the answers. Closes the backend."""
    recording = RecordingBackend(reading)
    try:
        host = recording.ask("host")
        collect(Source(recording), READERS)
    finally:
        recording.close()
    answers: dict[str, Any] = recording.answers
    if redact:
        name = str(host.get("hostname", "")) if isinstance(host, dict) else ""
        redactor = Redactor(key, (name, name.partition(".")[0]))
        answers = redactor.answers(answers)
        if isinstance(host, dict):
            answers["host"] = {"json": {**answers["host"]["json"], "hostname": redactor.name(name)}}
    return Tape(SCHEMA_VERSION, f"hostagent {__version__}", time.time(), reading.kind, redact, answers)


def differences(left: Tape, right: Tape) -> Iterator[str]:
    """Line by line: questions only one tape knows, and answers that differ."""
    for question in sorted(set(left.answers) | set(right.answers)):
        before, after = left.answers.get(question), right.answers.get(question)
        if before == after:
            continue
        yield f"{question}"
        yield from _answer_differences(before, after)


def _answer_differences(before: Any, after: Any) -> Iterator[str]:
    for line in difflib.unified_diff(shown(before).splitlines(), shown(after).splitlines(), n=0, lineterm=""):
        if not line.startswith(("---", "+++", "@@")):
            yield f"  {line}"


def shown(encoded: Any) -> str:
    """One encoded answer as a person reads it."""
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
        with open(os.path.join(directory, "tape.json"), "w", encoding="utf-8") as stream:
            stream.write(text)
        with open(os.path.join(directory, "expect.yaml"), "w", encoding="utf-8") as stream:
            yaml.safe_dump(expected, stream, sort_keys=False)
    except OSError as error:
        raise HostagentError(
            f"cannot write {directory}: {(error.strerror or str(error)).lower()}", "Name a directory that does not exist yet"
        ) from error
    return expected


def summary(tape: Tape) -> Iterable[str]:
    """What a tape holds, in a few lines."""
    unread = [key for key, value in tape.answers.items() if isinstance(value, dict) and "unread" in value]
    yield f"recorded by  {tape.recorded_by}"
    yield f"recorded at  {time.strftime('%Y-%m-%d %H:%M:%SZ', time.gmtime(tape.recorded_at))}"
    yield f"kind         {tape.kind}"
    yield f"redacted     {'yes' if tape.redacted else 'no'}"
    yield f"questions    {len(tape.answers)}, of which {len(unread)} could not be answered"
