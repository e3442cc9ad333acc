"""Facts meet checks. ``skip`` and ``unknown`` are decided here and nowhere else."""

import math
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from hostagent.check import Check, Finding, NotApplicable
from hostagent.errors import HostagentError
from hostagent.facts.host import HostFacts, subject_key
from hostagent.facts.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.profile import CheckPolicy, Profile
from hostagent.report import Judgement, Outcome

#: What a check without a ``subject`` parameter is run once for.
_WHOLE_HOST = ("", None)


def evaluate(checks: Iterable[Check], facts: HostFacts, profile: Profile, ends: float = math.inf) -> tuple[Judgement, ...]:
    """Every check over every subject, ordered by id, then subject."""
    ordered = sorted(checks, key=lambda one: one.id)
    return tuple(judgement for one in ordered for judgement in _judge(one, facts, profile))


def _judge(one: Check, facts: HostFacts, profile: Profile) -> Iterator[Judgement]:
    policy = profile.checks.get(one.id, CheckPolicy())
    one = one._replace(severity=policy.severity or one.severity)
    if policy.off:
        yield _judgement(one, "off", "", code="off", message=f"turned off by the profile: {policy.off}")
        return
    fixed: dict[str, Any] = {}
    subject_name, subject_kind = "", None
    for name, kind in one.inputs:
        if kind is Profile:
            fixed[name] = profile
        elif kind is one.params:
            fixed[name] = params(one, policy)
        elif getattr(kind, "__origin__", None) is tuple:
            fixed[name] = facts.of(kind.__args__[0])
        elif subject_key(kind):
            subject_name, subject_kind = name, kind
        else:
            fixed[name] = facts.of(kind)
    for key, subject in _subjects(facts, subject_kind):
        if subject_kind is not None and subject is None:
            yield _judgement(one, "skip", "", code="no-subject", message=f"this host has no {subject_kind.__name__}")
        else:
            yield from _run(one, key, {**fixed, subject_name: subject} if subject_kind else fixed)


def _subjects(facts: HostFacts, kind: Any) -> Iterator[tuple[str, Any]]:
    """(key, subject) pairs; an unread list is one subject that is unread, an empty one is (``""``, None)."""
    if kind is None:
        return iter([_WHOLE_HOST])
    subjects = facts.of(kind)
    if isinstance(subjects, Unread):
        return iter([("", subjects)])
    keyed = [(str(getattr(one, subject_key(kind))), one) for one in subjects]
    return iter(sorted(keyed, key=lambda pair: pair[0]) or [_WHOLE_HOST])


def _run(one: Check, subject: str, arguments: dict[str, Any]) -> Iterator[Judgement]:
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
        yield _judgement(one, "unknown", subject, code="crashed", message=_crash(error))
    else:
        if not found:
            yield _judgement(one, "pass", subject, code="", message=one.title)


def _stopped(one: Check, subject: str, arguments: Mapping[str, Any], unread: Unread) -> Judgement:
    text = f"{unread.why}: {unread.detail}" if unread.detail else unread.why
    if unread.why not in NOT_APPLICABLE:
        return _judgement(one, "unknown", subject, code=f"unread-{unread.why}", message=f"could not read ({text})")
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


def _from_finding(one: Check, subject: str, finding: Finding) -> Judgement:
    if finding.outcome not in ("fail", "warn"):
        raise TypeError(f"a finding of outcome {finding.outcome!r}, wanted fail or warn")
    return Judgement(
        id=one.id,
        outcome=finding.outcome,
        severity=one.severity,
        scope=one.scope,
        subject=subject,
        code=finding.code,
        message=finding.message,
        found=finding.found,
        wanted=finding.wanted,
        remediation=finding.remedy or one.remedy,
        evidence=finding.evidence,
    )


def _judgement(one: Check, outcome: Outcome, subject: str, *, code: str, message: str, remediation: str = "") -> Judgement:
    return Judgement(one.id, outcome, one.severity, one.scope, subject, code, message, "", "", remediation, ())


def _crash(error: Exception) -> str:
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f" at {os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}" if trace else ""
    return f"the check crashed: {type(error).__name__}: {error}{place}"


def params(one: Check, policy: CheckPolicy) -> Any:
    """The check's thresholds: its own defaults, and over them the profile's. Raises ``HostagentError``."""
    defaults = one.params()
    kinds = one.params.__annotations__
    for name, value in policy.params.items():
        if name not in kinds:
            raise HostagentError(
                f"checks.{one.id}.params: found {name!r}, wanted one of {', '.join(kinds)}",
                f"Run 'hostagent checks show {one.id}'",
            )
        kind = type(getattr(defaults, name))
        is_wrong = isinstance(value, bool) != (kind is bool) or not isinstance(value, (int, float) if kind is float else kind)
        if is_wrong or (isinstance(value, float) and not math.isfinite(value)):  # every comparison with NaN is false
            raise HostagentError(
                f"checks.{one.id}.params.{name}: found {value!r}, wanted {kind.__name__}",
                f"Run 'hostagent checks show {one.id}'",
            )
    return defaults._replace(**policy.params)
