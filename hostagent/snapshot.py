"""Snapshots: record a host, compare two, turn one into a test."""

import difflib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from hostagent.app import examine, prepare
from hostagent.errors import HostagentError
from hostagent.profile import Loaded
from hostagent.reading import InProcess, Reading
from hostagent.report import Report
from hostagent.sinks.digest import moment
from hostagent.source.redact import redacted
from hostagent.source.tape import RECORDED_BY, SCHEMA_VERSION, ReplayBackend, Tape, encode, question
from hostagent.visible import visible


def record(reading: Reading, key: bytes, *, redact: bool = True) -> Tape:
    """Everything that the pass asked the host, with the answers. A live pass has to be opened with ``records``."""
    kind = reading.collect().facts.kind
    answers: dict[str, Any] = {question(*asked): encode(answer) for asked, answer in reading.answers.items()}
    return Tape(SCHEMA_VERSION, RECORDED_BY, time.time(), kind, redact, redacted(answers, key) if redact else answers)


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


def expectation(report: Report) -> dict[str, Any]:
    """What ``expect.yaml`` of a recorded host holds: verdicts, and the ids of everything that is not pass, skip or off.

    ``not_recorded``, only where there are some, are the checks of which the tape has no answer, and nothing else is unknown: they
    ask what this program did not read when it recorded the host.
    """
    by_outcome: dict[str, set[str]] = {"fail": set(), "warn": set(), "unknown": set()}
    for one in report.findings:
        if one.outcome in by_outcome:
            by_outcome[one.outcome].add(one.id)
    told = {one.id for one in report.findings if one.outcome == "unknown" and one.code != "unread-not-recorded"}
    not_recorded = by_outcome["unknown"] - told
    by_outcome["unknown"] = told
    return {
        "profile": report.profile.name,
        "single_node": report.verdict.single_node,
        "multi_node": report.verdict.multi_node,
        **{outcome: sorted(ids) for outcome, ids in by_outcome.items()},
        **({"not_recorded": sorted(not_recorded)} if not_recorded else {}),
    }


def adopt(tape: Tape, text: str, directory: str, loaded: Loaded) -> dict[str, Any]:
    """Write ``tape.json`` and ``expect.yaml`` into `directory`, which must not exist. Raises ``HostagentError``."""
    import yaml

    expected = expectation(examine(InProcess(ReplayBackend(tape), replayed=True), prepare(loaded)))
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
