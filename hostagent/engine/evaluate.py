"""Runs checks on facts; the one place that decides ``skip`` and ``unknown``."""

# A collection is annotated `tuple[Gpu, ...] | Unread` if it can only excuse: in an image, which has none, and where it is unread,
# nothing is excused and the check works all the same.

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import Any

from hostagent.core.crash import crash_lines, crash_text
from hostagent.core.deadline import COMPUTING_S, processor_limit
from hostagent.core.errors import HostagentError, OutOfTime
from hostagent.core.frozen import called_of, subject_kind
from hostagent.core.steps import Step
from hostagent.core.tables.platforms import NOWHERE, OWNERS, owners_way, repairs_itself
from hostagent.core.typed import ShapeError
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.core.vocabulary import Severity
from hostagent.engine.check import Check, NotApplicable
from hostagent.engine.inputs import JoinCache, thresholds
from hostagent.engine.judgements import WHOLE_HOST, Subject, device, from_finding, judgement, why_unread
from hostagent.engine.report import Judgement, subject_order
from hostagent.engine.result_cache import ResultCache
from hostagent.engine.root_cause import with_causes
from hostagent.facts.hostfacts import HostFacts, subject_key
from hostagent.facts.platform import Part, Platform
from hostagent.profiles.profile import CheckPolicy, Profile

#: Seconds of processor time for the remaining checks after each check that was cut; number of such cuts, then the rest is not judged.
_REST_S, _MOST_CUT = 1.0, 5
#: Remedies for a question without an answer, by reason.
_AGAIN = {
    "denied": (Step("rerun", "Run 'hostagent check' as root on the host."),),
    "timeout": (Step("rerun", "Run 'hostagent check' again when the host is less busy, or with a longer --deadline."),),
    "not-recorded": (Step("rerun", "Record the host again with this release of hostagent."),),
    "older-recording": (Step("rerun", "Record the host again with this release of hostagent."),),
}
_NO_POLICY = CheckPolicy()
_NO_ORIGINS: Mapping[str, str] = MappingProxyType({})
#: By the id of the check.
Judged = Mapping[str, tuple[Judgement, ...]]


def evaluate(checks: Iterable[Check], facts: HostFacts, profile: Profile, *how: Any, **more: Any) -> tuple[Judgement, ...]:
    """Every check over every subject, ordered by id, then subject. `how` and `more`: those of `judge_each`."""
    checks = tuple(checks)
    return concluded(checks, judge_each(checks, facts, profile, *how, **more), facts)


def concluded(checks: Iterable[Check], judged: Judged, facts: HostFacts) -> tuple[Judgement, ...]:
    """All judgements, with proofs of other checks applied, and with their causes. Takes some milliseconds, without a time limit: an
    ``OutOfTime`` here would lose all judgements.
    """
    ordered = sorted(checks, key=lambda one: one.id)
    return with_causes(ordered, proved(ordered, judged), facts.parents())


def judge_each(
    checks: Iterable[Check],
    facts: HostFacts,
    profile: Profile,
    *,
    within_s: float = COMPUTING_S,
    origins: Mapping[str, str] = _NO_ORIGINS,
    cache: ResultCache | None = None,
) -> Judged:
    """The judgements of each check.

    The check that runs after `within_s` seconds of processor time is cut and not judged, and those after it get a second more, five times
    at most: so a check without an end costs only itself. `origins` is the profile's: the layer that set each dotted path. `cache` has
    judgements of earlier passes.
    """
    ordered, host = sorted(checks, key=lambda one: one.id), JoinCache(facts, profile)
    judged: dict[str, tuple[Judgement, ...]] = {}
    for seconds in (within_s, *[_REST_S] * _MOST_CUT):
        left = [one for one in ordered if one.id not in judged]
        if not left:
            break
        under_way: Check | None = None
        with contextlib.suppress(OutOfTime), processor_limit(seconds):
            for one in left:
                under_way = one
                judge = partial(_judged, one, host, origins)
                judged[one.id] = cache.judgements(one, profile, judge) if cache else judge()
        if under_way and under_way.id not in judged:
            judged[under_way.id] = (_not_judged(under_way, profile, within_s),)
    return {**judged, **{one.id: (_not_judged(one, profile, within_s),) for one in ordered if one.id not in judged}}


def _not_judged(one: Check, profile: Profile, within_s: float) -> Judgement:
    """Unknown for want of time, which says nothing about the host: it counts in a verdict only where the check is critical."""
    policy = profile.checks.get(one.id, _NO_POLICY)
    one = one._replace(severity=policy.severity or _by_axis(one, profile))
    if policy.off:
        return _off(one, policy)
    if one.severity != "critical":
        one = one._replace(severity="info")
    message = f"not judged (timeout: {within_s:g} s of processor time were up)"
    return judgement(one, "unknown", WHOLE_HOST, code="unread-timeout", message=message)


def _off(one: Check, policy: CheckPolicy) -> Judgement:
    return judgement(one, "off", WHOLE_HOST, code="off", message=f"turned off by the profile: {policy.off}")


def _judged(one: Check, *what: Any) -> tuple[Judgement, ...]:
    return tuple(_judge(one, *what))


def _judge(one: Check, host: JoinCache, origins: Mapping[str, str]) -> Iterator[Judgement]:
    facts, profile = host.facts, host.profile
    policy = profile.checks.get(one.id, _NO_POLICY)
    one = one._replace(severity=policy.severity or _by_axis(one, profile))
    if policy.off:
        yield _off(one, policy)
        return
    name, part = _part(one, facts, profile)
    if part and part.place == NOWHERE:
        message = f"does not apply (where {name} keeps the {one.part} is not known)"
        yield judgement(one, "skip", WHOLE_HOST, code="no-place", message=message)
        return
    gap = _gap(one, facts)
    for each in _each(one, host, policy, origins):
        if gap is not None and each.outcome == "pass":
            yield _stopped(one, Subject(each.subject_kind, each.subject, each.device), {}, gap)
        else:
            yield _for_owner(each, name, part, one.part or "") if part else each


def _part(one: Check, facts: HostFacts, profile: Profile) -> "tuple[str, Part | None]":
    """The platform's name, and the part of it that the check judges; None where its owner was not read, or it has none.

    The owner follows from files on the host, else from the profile: a driver container that has gone leaves no files.
    """
    platform = facts.of(Platform)
    part = None if isinstance(platform, Unread) or not one.part else platform.part(one.part)
    if isinstance(platform, Unread) or part is None or isinstance(part, Unread) or isinstance(platform.name, Unread):
        return "", None
    owner = {"driver": profile.driver.owner, "toolkit": profile.toolkit.owner}.get(one.part or "", "")
    if part.owner == "host" and owner in OWNERS:
        part = replace(part, owner=OWNERS[owner])
    return platform.name or "The provider", part


def _gap(one: Check, facts: HostFacts) -> "Unread | None":
    """Why a pass proves nothing: the platform may keep the part at a place that the check did not look at."""
    platform = facts.of(Platform)
    part = None if isinstance(platform, Unread) or not one.part else platform.part(one.part)
    return part if isinstance(part, Unread) and part.why not in NOT_APPLICABLE else None


def _for_owner(judged: Judgement, platform: str, part: Part, name: str) -> Judgement:
    """The remedy, as the owner of the part allows it."""
    if not judged.remedy or part.owner == "host":
        return judged
    way = tuple(Step("contact_owner", text) for text in owners_way(platform, part.owner, name))
    own = judged.remedy if repairs_itself(platform, part.owner) else ()
    own = (*(replace(step, text=f"Until then: {step.text}") for step in own[:1]), *own[1:])
    return replace(judged, remedy=(*way, *own), action=way[0].action)


def _each(one: Check, host: JoinCache, policy: CheckPolicy, origins: Mapping[str, str]) -> Iterator[Judgement]:
    is_set, facts = bool(policy.severity), host.facts
    arguments = one.inputs.arguments(host, params(one, policy))
    if one.inputs.subject is None:
        for each in _run(one, WHOLE_HOST, arguments, facts, is_set):
            about = Subject(each.subject_kind, each.subject, each.device)
            yield _excepted(one, about, origins) if each.subject and each.subject in policy.excepted else each
        return
    name, kind = one.inputs.subject
    subjects = facts.of(kind)
    if isinstance(subjects, Unread):
        yield from _run(one, WHOLE_HOST, {**arguments, name: subjects}, facts, is_set)
        return
    if not subjects:
        yield judgement(one, "skip", WHOLE_HOST, code="no-subject", message=f"this host has no {called_of(kind)}")
    field, word = subject_key(kind), subject_kind(kind)
    keyed = [(str(getattr(subject, field)), subject) for subject in subjects]
    for key, subject in sorted(keyed, key=lambda pair: subject_order(pair[0])):
        about = Subject(word, key, device(subject, key))
        if key in policy.excepted:
            yield _excepted(one, about, origins)
        else:
            yield from _run(one, about, {**arguments, name: subject}, facts, is_set)


def _excepted(one: Check, subject: Subject, origins: Mapping[str, str]) -> Judgement:
    origin = origins.get(f"checks.{one.id}.except", "")
    return judgement(one, "off", subject, code="excepted", message=f"excepted by the profile {origin}".rstrip())


def _run(one: Check, subject: Subject, arguments: dict[str, Any], facts: HostFacts, is_set: bool) -> Iterator[Judgement]:
    found = 0
    try:
        for kind in one.inputs.needed:
            need(facts.of(kind))
        for finding in one.function(**arguments):
            found += 1
            yield from_finding(one, subject, finding, facts, is_set=is_set)
    except NotApplicable as reason:
        if not found:
            yield judgement(one, "skip", subject, code="not-applicable", message=f"does not apply ({reason})")
    except UnreadError as error:
        stopped = _stopped(one, subject, arguments, error.unread)
        if not (found and stopped.outcome == "skip"):
            yield stopped
    except Exception as error:  # a crash is unknown, never pass
        yield judgement(one, "unknown", subject, code="crashed", message=_crash(error), evidence=crash_lines(error))
    else:
        if not found:
            yield judgement(one, "pass", subject, code="", message=one.title)


def _stopped(one: Check, subject: Subject, arguments: Mapping[str, Any], unread: Unread) -> Judgement:
    if unread.why not in NOT_APPLICABLE:
        if unread.why == "older-recording":
            one = one._replace(severity="info")
        code, message = f"unread-{unread.why}", why_unread(unread)
        again = _AGAIN.get(unread.why, ())
        return judgement(
            one, "unknown", subject, code=code, message=message, remedy=again, evidence=unread.evidence, unread=unread.question
        )
    if unread.why == "absent" and any(path in one.owns for path in _paths(arguments, unread)):
        return judgement(one, "fail", subject, code="absent", message=unread.detail or "absent", remedy=one.remedy)
    text = f"{unread.why}: {unread.detail}" if unread.detail else unread.why
    return judgement(one, "skip", subject, code=unread.why, message=f"does not apply ({text})")


def _paths(arguments: Mapping[str, Any], unread: Unread) -> Iterator[str]:
    """``Type.field`` of each input field that holds this very ``Unread``."""
    for value in arguments.values():
        if is_dataclass(value):
            for field in fields(value):
                found = getattr(value, field.name)
                if isinstance(found, Unread) and found.is_same_gap(unread):
                    yield f"{type(value).__name__}.{field.name}"


def _by_axis(one: Check, profile: Profile) -> Severity:
    """The weight of a check without a setting in the profile: an advisory counts in no verdict."""
    if one.axis == "security":
        return "info" if profile.security == "advisory" else profile.security
    return one.severity


def proved(checks: Iterable[Check], judged: Judged) -> tuple[Judgement, ...]:
    """All judgements, given by check, in the order of `checks`.

    A critical unknown counts in no verdict where every proof of its check passed, about the same device or the host.
    """
    return tuple(judgement for one in checks for judgement in _proved(one, judged))


def _proved(one: Check, judged: Judged) -> Iterator[Judgement]:
    for each in judged[one.id]:
        is_open = one.proved_by and (each.outcome, each.severity) == ("unknown", "critical") and each.code != "crashed"
        if is_open and all(_passed(judged.get(proof, ()), each) for proof in one.proved_by):
            shown = f"{' and '.join(one.proved_by)} passed, which shows it at work"
            yield replace(each, severity="info", message=f"{each.message}; {shown}")
        else:
            yield each


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
