"""One judgement of a check about a subject: from its finding, or from the ``Unread`` that kept it from judging."""

import re
from dataclasses import replace
from typing import NamedTuple

from hostagent.core.escape import cut, visible
from hostagent.core.frozen import called_of, subject_kind
from hostagent.core.steps import Step
from hostagent.core.tables.recovery_actions import where_it_runs
from hostagent.core.unread import Unread
from hostagent.core.vocabulary import SEVERITIES, WRONG, Outcome, Severity, Virtual
from hostagent.engine.check import Check, Finding
from hostagent.engine.report import Cause, Judgement
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts, parent_of
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Runtime

_HEADLINE_CHARS = 90
_WHY = {"denied": "permission denied", "timeout": "no answer in time"}
#: An error of NVML, as the worker writes it.
_NVML = re.compile(r"(\d+) (.+?)\.? \(nvml\w+[^()]*\)")


class Subject(NamedTuple):
    """One of several; all are "" for the whole host."""

    kind: str
    key: str
    device: str


WHOLE_HOST = Subject("", "", "")


def subject_of(facts: HostFacts, key: str) -> Subject:
    """The subject of that key; one without a fact, such as a GPU that has gone, is a device."""
    one = facts.subject(key)
    if one is None:
        return Subject("device", key, f"device {key}")
    return Subject(subject_kind(type(one)), key, device(one, key))


def device(subject: object, key: str) -> str:
    """Display name of a subject: a GPU with its index in NVML, which nvidia-smi and job logs use; a port with its card's address; a
    runtime by its name.
    """
    if isinstance(subject, Gpu):
        return f"GPU {key}" if isinstance(subject.index, Unread) else f"GPU {subject.index} ({key})"
    name, parent = f"{called_of(type(subject))} {key}", parent_of(subject)
    return key if isinstance(subject, Runtime) else f"{name} ({parent})" if parent else name


def why_unread(unread: Unread) -> str:
    """The reason of an ``Unread`` as text.

    >>> why_unread(Unread("error", "15 GPU is lost (nvmlDeviceGetHandleByIndex)"))
    'NVML error 15, GPU is lost'
    >>> why_unread(Unread("denied", "/dev/kmsg"))
    'permission denied: /dev/kmsg'
    """
    nvml = _NVML.fullmatch(unread.detail)
    if nvml:
        return f"NVML error {nvml[1]}, {nvml[2]}"
    words = _WHY.get(unread.why, "could not read")
    return f"{words}: {unread.detail}" if unread.detail else words


def judgement(
    one: Check,
    outcome: Outcome,
    subject: Subject,
    *,
    code: str,
    message: str,
    remedy: tuple[Step, ...] = (),
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
        device=subject.device,
        code=code,
        message=message,
        found="",
        wanted="",
        headline=_shortened(message[:1].upper() + message[1:]) if outcome in ("fail", "unknown") else "",
        action=remedy[0].action if remedy else "rerun" if outcome == "unknown" else "none",
        remedy=remedy,
        evidence=evidence,
        unread=unread,
    )


def from_finding(one: Check, subject: Subject, finding: Finding, facts: HostFacts, *, is_set: bool) -> Judgement:
    """`is_set`: the profile says what this check weighs."""
    if finding.outcome not in WRONG:
        raise TypeError(f"a finding of outcome {finding.outcome!r}, wanted fail or warn")
    if isinstance(finding.about, str) and finding.about:
        subject = subject_of(facts, finding.about)
    virtual = _virtual(facts)
    remedy = tuple(_filled(where_it_runs(step, virtual), subject) for step in finding.remedy or one.remedy)
    return Judgement(
        id=one.id,
        outcome=finding.outcome,
        severity=_weight(one.severity, finding, is_set),
        scope=one.scope,
        axis=one.axis,
        subject=subject.key,
        subject_kind=subject.kind,
        device=subject.device,
        code=finding.code,
        message=finding.message,
        found=finding.found,
        wanted=finding.wanted,
        headline=_headline(finding.headline or one.headline, finding, subject),
        action=remedy[0].action if remedy else "none",
        remedy=remedy,
        evidence=finding.evidence,
        unread=finding.about.question if isinstance(finding.about, Unread) else "",
        cause=Cause(one.id, subject.key) if finding.because == () else Cause("", ""),
    )


def _virtual(facts: HostFacts) -> Virtual:
    """The kind of virtual machine; "" where that was not read: the GPU counts as a physical board."""
    platform = facts.of(Platform)
    return "" if isinstance(platform, Unread) or isinstance(platform.virtual, Unread) else platform.virtual


def _filled(step: Step, subject: Subject) -> Step:
    """The step about this subject: ``{subject}`` in its command is the device's address, which a shell takes for nothing else."""
    if "{subject}" not in step.command:
        return step
    from shlex import quote

    return replace(step, command=step.command.replace("{subject}", quote(subject.key)))


def _weight(severity: Severity, finding: Finding, is_set: bool) -> Severity:
    """The weight of a finding; it never exceeds a weight that the profile sets."""
    if finding.at_least and not is_set:
        severity = min(severity, finding.at_least, key=SEVERITIES.index)
    return max(severity, finding.at_most, key=SEVERITIES.index) if finding.at_most else severity


def _headline(template: str, finding: Finding, subject: Subject) -> str:
    """The template, filled in one pass so that values are not searched for placeholders; else the message."""
    if not template:
        return _shortened(f"{subject.device}: {finding.message}" if subject.device else finding.message)
    words = {"device": subject.device or "this host", "found": finding.found, "wanted": finding.wanted}
    return _shortened(re.sub(r"\{(device|found|wanted)\}", lambda match: words[match[1]], template))


def _shortened(text: str) -> str:
    r"""On one line, without control characters.

    >>> _shortened("GPU 4\n has  fallen off"), len(_shortened("x" * 200))
    ('GPU 4 has fallen off', 90)
    """
    return cut(visible(" ".join(text[: 4 * _HEADLINE_CHARS].split())), _HEADLINE_CHARS)
