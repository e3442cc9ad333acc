"""Turn a snapshot into a test."""

import os
import shutil
from dataclasses import replace
from typing import Any

from hostagent.core.answers import Answer
from hostagent.core.errors import HostagentError
from hostagent.core.filewrite import deliver
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import Kind
from hostagent.engine.collect import ALL_READERS, collect
from hostagent.engine.collection import InProcess
from hostagent.engine.pipeline import examine, prepare
from hostagent.engine.report import Report
from hostagent.engine.report.grouping import NOTHING, groups
from hostagent.host.recording import ReplayBackend, Tape, dumps, question
from hostagent.host.source import Source
from hostagent.profiles.profile import Loaded

#: Codes of findings about answers that a tape lacks.
_GAPS = ("unread-not-recorded", "unread-older-recording")
_VERDICT = ("profile", "single_node", "multi_node")


def expectation(report: Report) -> dict[str, Any]:
    """What ``expect.yaml`` of a recorded host holds: verdicts, causes that count, and the ids of everything that is not pass,
    skip or off.

    ``not_recorded``, only where there are some, are the checks of which the tape has no answer, and nothing else is unknown: they
    ask what this program did not read when it recorded the host.
    """
    by_outcome: dict[str, set[str]] = {"fail": set(), "warn": set(), "unknown": set()}
    for one in report.findings:
        if one.outcome in by_outcome:
            by_outcome[one.outcome].add(one.id)
    unread = {one.id for one in report.findings if one.outcome == "unknown" and one.code not in _GAPS}
    not_recorded = by_outcome["unknown"] - unread
    by_outcome["unknown"] = unread
    return {
        "profile": report.profile.name,
        "single_node": report.verdict.single_node,
        "multi_node": report.verdict.multi_node,
        "causes": [" ".join((group.cause.finding.id, *group.cause.subjects)) for group in groups(report) if group.rank < NOTHING],
        **{outcome: sorted(ids) for outcome, ids in by_outcome.items()},
        **({"not_recorded": sorted(not_recorded)} if not_recorded else {}),
    }


def adopt(tape: Tape, text: str, directory: str, loaded: Loaded) -> dict[str, Any]:
    """Write ``tape.json`` and ``expect.yaml`` into `directory`, which must not exist. Raises ``HostagentError``."""
    expected = _expected(tape, loaded)
    try:
        os.makedirs(directory)
        try:
            _write(directory, text, expected)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
    except OSError as error:
        raise HostagentError(
            f"cannot write {directory}: {(error.strerror or str(error)).lower()}", "Name a directory that does not exist yet"
        ) from error
    return expected


def add_missing(old: Tape, newer: Tape, directory: str, loaded: Loaded) -> "tuple[dict[str, Any], tuple[str, ...]]":
    """Add to the test in `directory`, with the tape `old`, the answers that it lacks and `newer` has; returns the expectation, and the
    added questions. What ``expect.yaml`` claims besides the verdict stays. Raises ``HostagentError``.
    """
    import yaml

    if (old.kind, old.redacted) != (newer.kind, newer.redacted):
        found, wanted = (f"{one.kind}, {'redacted' if one.redacted else 'not redacted'}" for one in (newer, old))
        raise HostagentError(f"found a snapshot that is {found}, wanted one that is {wanted}, as {directory}", "Record it in that way")
    both = _Both(old, newer)
    collect(Source(both), ALL_READERS)
    added = tuple(sorted(both.added))
    if not added:
        raise HostagentError(f"{directory} lacks no answer that the snapshot has", "There is nothing to add")
    answers = {**old.answers, **{asked: newer.answers[asked] for asked in added}}
    tape = replace(old, answers=answers, questions=newer.questions)
    try:
        with open(os.path.join(directory, "expect.yaml"), encoding="utf-8") as stream:
            claimed = yaml.safe_load(stream)
        made = _expected(tape, loaded)
        made_keys = {*made, "not_recorded"}
        claims = {key: value for key, value in claimed.items() if key not in made_keys} if isinstance(claimed, dict) else {}
        expected = {**{key: made[key] for key in _VERDICT}, **claims, **{key: value for key, value in made.items() if key not in _VERDICT}}
        _write(directory, dumps(tape), expected)
    except (OSError, yaml.YAMLError) as error:
        raise HostagentError(f"cannot add to {directory}: {error}", "Name the directory of an adopted snapshot") from error
    return expected, added


class _Both:
    """Answers from the old recording, and from the newer one where that has none."""

    def __init__(self, old: Tape, newer: Tape) -> None:
        self._old, self._newer = old, newer
        self._backends = ReplayBackend(old), ReplayBackend(newer)
        self.added: set[str] = set()

    @property
    def kind(self) -> Kind:
        return self._old.kind

    def ask(self, method: str, *arguments: str) -> "Answer | Unread":
        key = question(method, *arguments)
        if key in self._old.answers or key not in self._newer.answers:
            return self._backends[0].ask(method, *arguments)
        self.added.add(key)
        return self._backends[1].ask(method, *arguments)


def _expected(tape: Tape, loaded: Loaded) -> dict[str, Any]:
    return expectation(examine(InProcess(ReplayBackend(tape), replayed=True), prepare(loaded)))


def _write(directory: str, text: str, expected: dict[str, Any]) -> None:
    import yaml

    for name, content in (("tape.json", text), ("expect.yaml", yaml.safe_dump(expected, sort_keys=False))):
        deliver(content, os.path.join(directory, name))
