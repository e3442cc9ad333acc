"""Facts meet checks. ``skip`` and ``unknown`` are decided here and nowhere else."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from hostagent.check import Check, Finding, NotApplicable
from hostagent.crash import crash_lines, crash_text
from hostagent.errors import HostagentError, OutOfTime
from hostagent.facts.frozen import called_of, subject_kind
from hostagent.facts.hostfacts import HostFacts, subject_key
from hostagent.facts.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.inputs import thresholds
from hostagent.profile import CheckPolicy, Profile
from hostagent.report import Judgement, subject_order
from hostagent.typed import ShapeError
from hostagent.vocabulary import WRONG, Outcome


class _Subject(NamedTuple):
    """One of several; kind and key are "" for the whole host."""

    kind: str
    key: str


#: Seconds that one check may take once all together have taken `app.FIRST_LOOK_S`: they take some hundredths of a second.
_SHARE_S = 0.2
_WHOLE_HOST = _Subject("", "")
_NO_POLICY = CheckPolicy()
_NO_ORIGINS: Mapping[str, str] = MappingProxyType({})


def evaluate(
    checks: Iterable[Check],
    facts: HostFacts,
    profile: Profile,
    ends: float = math.inf,
    clock: Callable[[], float] = time.monotonic,
    *,
    origins: Mapping[str, str] = _NO_ORIGINS,
) -> tuple[Judgement, ...]:
    """Every check over every subject, ordered by id, then subject.

    What is not judged when `clock` reaches `ends`, or when something raises ``OutOfTime``, is unknown: the whole check, once.
    An ``OutOfTime`` before `ends` is for a check that takes more than its share: it costs that one alone.
    `origins` is the profile's: the layer that set each dotted path.
    """
    ordered = sorted(checks, key=lambda one: one.id)
    judged: dict[str, tuple[Judgement, ...]] = {}
    slow, under_way, began = set[str](), "", 0.0
    while True:
        try:
            for one in ordered:
                if one.id not in judged:
                    under_way, began = one.id, clock()
                    judged[one.id] = tuple(_judge(one, facts, profile, origins, is_late=began >= ends or one.id in slow))
            return tuple(judgement for one in ordered for judgement in judged[one.id])
        except OutOfTime:
            if not math.isfinite(ends) or clock() >= ends:
                ends = -math.inf
            elif clock() >= began + _SHARE_S:  # else it began a moment ago, and begins again
                slow.add(under_way)


def _judge(one: Check, facts: HostFacts, profile: Profile, origins: Mapping[str, str], *, is_late: bool) -> Iterator[Judgement]:
    policy = profile.checks.get(one.id, _NO_POLICY)
    one = one._replace(severity=policy.severity) if policy.severity else one
    if policy.off:
        yield _judgement(one, "off", _WHOLE_HOST, code="off", message=f"turned off by the profile: {policy.off}")
        return
    if is_late:
        yield _judgement(one, "unknown", _WHOLE_HOST, code="unread-timeout", message="not judged (timeout: the time for judging was up)")
        return
    arguments = one.inputs.arguments(facts, profile, params(one, policy))
    if one.inputs.subject is None:
        yield from _run(one, _WHOLE_HOST, arguments)
        return
    name, kind = one.inputs.subject
    subjects = facts.of(kind)
    if isinstance(subjects, Unread):
        yield from _run(one, _WHOLE_HOST, {**arguments, name: subjects})
        return
    if not subjects:
        yield _judgement(one, "skip", _WHOLE_HOST, code="no-subject", message=f"this host has no {called_of(kind)}")
    field, word = subject_key(kind), subject_kind(kind)
    excepted = policy.excepted
    keyed = [(str(getattr(subject, field)), subject) for subject in subjects]
    for key, subject in sorted(keyed, key=lambda pair: subject_order(pair[0])):
        if key in excepted:
            origin = origins.get(f"checks.{one.id}.except", "")
            message = f"excepted by the profile {origin}".rstrip()
            yield _judgement(one, "off", _Subject(word, key), code="excepted", message=message)
        else:
            yield from _run(one, _Subject(word, key), {**arguments, name: subject})


def _run(one: Check, subject: _Subject, arguments: dict[str, Any]) -> Iterator[Judgement]:
    found = 0
    try:
        for value in arguments.values():
            need(value)
        for finding in one.function(**arguments):
            found += 1
            yield _from_finding(one, subject, finding)
    except NotApplicable as reason:
        if not found:
            yield _judgement(one, "skip", subject, code="not-applicable", message=f"does not apply ({reason})")
    except UnreadError as error:
        stopped = _stopped(one, subject, arguments, error.unread)
        if not (found and stopped.outcome == "skip"):
            yield stopped
    except Exception as error:  # a crash is unknown, never pass
        yield _judgement(one, "unknown", subject, code="crashed", message=_crash(error), evidence=crash_lines(error))
    else:
        if not found:
            yield _judgement(one, "pass", subject, code="", message=one.title)


def _stopped(one: Check, subject: _Subject, arguments: Mapping[str, Any], unread: Unread) -> Judgement:
    text = f"{unread.why}: {unread.detail}" if unread.detail else unread.why
    if unread.why not in NOT_APPLICABLE:
        message = f"could not read ({text})"
        return _judgement(one, "unknown", subject, code=f"unread-{unread.why}", message=message, evidence=unread.evidence)
    if unread.why == "absent" and any(path in one.owns for path in _paths(arguments, unread)):
        return _judgement(one, "fail", subject, code="absent", message=unread.detail or "absent", remediation=one.remedy)
    return _judgement(one, "skip", subject, code=unread.why, message=f"does not apply ({text})")


def _paths(arguments: Mapping[str, Any], unread: Unread) -> Iterator[str]:
    """``Type.field`` of each input field that holds this very ``Unread``."""
    for value in arguments.values():
        if is_dataclass(value):
            for field in fields(value):
                found = getattr(value, field.name)
                if isinstance(found, Unread) and found.is_same_gap(unread):
                    yield f"{type(value).__name__}.{field.name}"


def _from_finding(one: Check, subject: _Subject, finding: Finding) -> Judgement:
    if finding.outcome not in WRONG:
        raise TypeError(f"a finding of outcome {finding.outcome!r}, wanted fail or warn")
    return Judgement(
        id=one.id,
        outcome=finding.outcome,
        severity=one.severity,
        scope=one.scope,
        subject=subject.key,
        subject_kind=subject.kind,
        code=finding.code,
        message=finding.message,
        found=finding.found,
        wanted=finding.wanted,
        remediation=finding.remedy or one.remedy,
        evidence=finding.evidence,
    )


def _judgement(
    one: Check, outcome: Outcome, subject: _Subject, *, code: str, message: str, remediation: str = "", evidence: tuple[str, ...] = ()
) -> Judgement:
    return Judgement(one.id, outcome, one.severity, one.scope, subject.key, subject.kind, code, message, "", "", remediation, evidence)


def _crash(error: Exception) -> str:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return f"the check crashed: {crash_text(error)}{place}"


def params(one: Check, policy: CheckPolicy) -> Any:
    """The check's thresholds: its own defaults, and over them the profile's; None where it has none. Raises ``HostagentError``."""
    try:
        return thresholds(one.inputs, policy.params, f"checks.{one.id}.params")
    except ShapeError as error:
        raise HostagentError(str(error), f"Run 'hostagent checks show {one.id}'") from error
