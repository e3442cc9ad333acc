"""Facts meet checks. ``skip`` and ``unknown`` are decided here and nowhere else."""

import math
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from hostagent.check import Check, Finding, NotApplicable
from hostagent.crash import crash_lines, crash_text
from hostagent.errors import HostagentError, OutOfTime
from hostagent.facts.frozen import called_of, subject_kind
from hostagent.facts.hostfacts import HostFacts, subject_key
from hostagent.facts.platform import Part, Platform
from hostagent.facts.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.inputs import thresholds
from hostagent.knowledge.platforms import NOWHERE, owners_way
from hostagent.profile import CheckPolicy, Profile
from hostagent.report import Judgement, subject_order
from hostagent.typed import ShapeError
from hostagent.vocabulary import SEVERITIES, WRONG, Outcome, Severity


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
            return proved(ordered, judged)
        except OutOfTime:
            if not math.isfinite(ends) or clock() >= ends:
                ends = -math.inf
            elif clock() >= began + _SHARE_S:  # else it began a moment ago, and begins again
                slow.add(under_way)


def _judge(one: Check, facts: HostFacts, profile: Profile, origins: Mapping[str, str], *, is_late: bool) -> Iterator[Judgement]:
    policy = profile.checks.get(one.id, _NO_POLICY)
    one = one._replace(severity=policy.severity or _by_axis(one, profile))
    if policy.off:
        yield _judgement(one, "off", _WHOLE_HOST, code="off", message=f"turned off by the profile: {policy.off}")
        return
    if is_late:
        yield _judgement(one, "unknown", _WHOLE_HOST, code="unread-timeout", message="not judged (timeout: the time for judging was up)")
        return
    name, part = _part(one, facts, profile)
    if part and part.place == NOWHERE:
        message = f"does not apply (where {name} keeps the {one.part} is not known)"
        yield _judgement(one, "skip", _WHOLE_HOST, code="no-place", message=message)
        return
    judged = _each(one, facts, profile, policy, origins)
    yield from (_for_owner(each, name, part, one.part or "") for each in judged) if part else judged


def _part(one: Check, facts: HostFacts, profile: Profile) -> "tuple[str, Part | None]":
    """The platform's name, and the part of it that the check judges; None where it is the host's own, or whose it is was not read.

    What the profile gives to the Operator is the Operator's, also where its containers left nothing on the host.
    """
    name, part = _seen(one, facts)
    wanted = profile.driver.owner if one.part == "driver" else profile.toolkit.owner
    if one.part and wanted == "container" and (part is None or part.owner != "provider"):
        return name, Part(part.place if part else "", "operator")
    return name, part


def _seen(one: Check, facts: HostFacts) -> "tuple[str, Part | None]":
    platform = facts.of(Platform)
    part = None if isinstance(platform, Unread) or not one.part else platform.part(one.part)
    if isinstance(platform, Unread) or part is None or isinstance(part, Unread) or isinstance(platform.name, Unread):
        return "", None
    return platform.name, part


def _for_owner(judgement: Judgement, platform: str, part: Part, name: str) -> Judgement:
    if not judgement.remediation:
        return judgement
    return replace(judgement, remediation=owners_way(platform, part.owner, name, judgement.remediation))


def _each(one: Check, facts: HostFacts, profile: Profile, policy: CheckPolicy, origins: Mapping[str, str]) -> Iterator[Judgement]:
    is_set = bool(policy.severity)
    arguments = one.inputs.arguments(facts, profile, params(one, policy))
    if one.inputs.subject is None:
        yield from _run(one, _WHOLE_HOST, arguments, is_set)
        return
    name, kind = one.inputs.subject
    subjects = facts.of(kind)
    if isinstance(subjects, Unread):
        yield from _run(one, _WHOLE_HOST, {**arguments, name: subjects}, is_set)
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
            yield from _run(one, _Subject(word, key), {**arguments, name: subject}, is_set)


def _run(one: Check, subject: _Subject, arguments: dict[str, Any], is_set: bool) -> Iterator[Judgement]:
    found = 0
    try:
        for name, value in arguments.items():
            if name not in one.inputs.lenient:
                need(value)
        for finding in one.function(**arguments):
            found += 1
            yield _from_finding(one, subject, finding, is_set)
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
        return _judgement(
            one, "unknown", subject, code=f"unread-{unread.why}", message=message, evidence=unread.evidence, unread=unread.question
        )
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


def _by_axis(one: Check, profile: Profile) -> Severity:
    """What a check weighs where no profile says it of this check: an advisory counts in no verdict."""
    if one.axis == "security":
        return "info" if profile.security == "advisory" else profile.security
    return one.severity


def _weight(severity: Severity, finding: Finding, is_set: bool) -> Severity:
    """`is_set`: by the profile, for this check; nothing raises that."""
    if finding.at_least and not is_set:
        severity = min(severity, finding.at_least, key=SEVERITIES.index)
    return max(severity, finding.at_most, key=SEVERITIES.index) if finding.at_most else severity


def _from_finding(one: Check, subject: _Subject, finding: Finding, is_set: bool) -> Judgement:
    if finding.outcome not in WRONG:
        raise TypeError(f"a finding of outcome {finding.outcome!r}, wanted fail or warn")
    return Judgement(
        id=one.id,
        outcome=finding.outcome,
        severity=_weight(one.severity, finding, is_set),
        scope=one.scope,
        axis=one.axis,
        subject=subject.key,
        subject_kind=subject.kind,
        code=finding.code,
        message=finding.message,
        found=finding.found,
        wanted=finding.wanted,
        remediation=finding.remedy or one.remedy,
        evidence=finding.evidence,
        unread="",
    )


def _judgement(
    one: Check,
    outcome: Outcome,
    subject: _Subject,
    *,
    code: str,
    message: str,
    remediation: str = "",
    evidence: tuple[str, ...] = (),
    unread: str = "",
) -> Judgement:
    return Judgement(
        id=one.id,
        outcome=outcome,
        severity=one.severity,
        scope=one.scope,
        axis=one.axis,
        subject=subject.key,
        subject_kind=subject.kind,
        code=code,
        message=message,
        found="",
        wanted="",
        remediation=remediation,
        evidence=evidence,
        unread=unread,
    )


def proved(checks: Iterable[Check], judged: Mapping[str, tuple[Judgement, ...]]) -> tuple[Judgement, ...]:
    """All judgements, given by check, in the order of `checks`.

    A critical unknown counts in no verdict where every proof of its check passed, about the same device or the host.
    """
    return tuple(judgement for one in checks for judgement in _proved(one, judged))


def _proved(one: Check, judged: Mapping[str, tuple[Judgement, ...]]) -> Iterator[Judgement]:
    for judgement in judged[one.id]:
        is_open = one.proved_by and (judgement.outcome, judgement.severity) == ("unknown", "critical") and judgement.code != "crashed"
        if is_open and all(_passed(judged.get(proof, ()), judgement) for proof in one.proved_by):
            shown = f"{' and '.join(one.proved_by)} passed, which shows it at work"
            yield replace(judgement, severity="info", message=f"{judgement.message}; {shown}")
        else:
            yield judgement


def _passed(proofs: tuple[Judgement, ...], of: Judgement) -> bool:
    same = [one for one in proofs if one.subject == of.subject] if of.subject and all(one.subject for one in proofs) else proofs
    return bool(same) and all(one.outcome == "pass" for one in same)


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
