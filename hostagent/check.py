"""What a check is written with: ``check``, ``Findings``, ``fail``, ``warn``, ``skip``, ``need``."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, NamedTuple, NoReturn

from hostagent.facts.unread import need

__all__ = ["Check", "Finding", "Findings", "Severity", "check", "fail", "need", "skip", "warn"]

Severity = Literal["critical", "warning", "info"]
Scope = Literal["node", "fabric"]
SEVERITIES = ("critical", "warning", "info")


class Finding(NamedTuple):
    """What a check yields. No finding means pass."""

    outcome: Literal["fail", "warn"]
    message: str
    code: str  # stable reason within the check; the report's API
    found: str
    wanted: str
    evidence: tuple[str, ...]
    remedy: str  # "" for the check's own


Findings = Iterator[Finding]


class NotApplicable(Exception):  # noqa: N818  an outcome, not an error
    """What `skip` raises; `evaluate` turns it into the outcome ``skip``."""


def skip(reason: str) -> NoReturn:
    """End the check: what it asks does not apply to this subject or host. `reason` completes "does not apply (…)"."""
    raise NotApplicable(need(reason))


def fail(message: str, *, code: str, found: object = "", wanted: object = "", evidence: tuple[str, ...] = (), remedy: str = "") -> Finding:
    """The healthy condition does not hold. `found` and `wanted` are printed in that order."""
    return _finding("fail", message, code, found, wanted, evidence, remedy)


def warn(message: str, *, code: str, found: object = "", wanted: object = "", evidence: tuple[str, ...] = (), remedy: str = "") -> Finding:
    """The condition holds but will not for long, or holds only in part: degraded, still placeable."""
    return _finding("warn", message, code, found, wanted, evidence, remedy)


def _finding(
    outcome: Literal["fail", "warn"], message: str, code: str, found: object, wanted: object, evidence: tuple[str, ...], remedy: str
) -> Finding:
    """No part of a finding may be unread: it would end as a report that cannot be printed."""
    shown = tuple(_shown(line) for line in evidence)
    return Finding(outcome, need(message), code, _shown(found), _shown(wanted), shown, need(remedy))


def _shown(value: object) -> str:
    need(value)
    if isinstance(value, tuple | list):
        return ", ".join(_shown(item) for item in value) or "none"
    return "yes" if value is True else "no" if value is False else str(value)


class Check(NamedTuple):
    """A check as the catalogue keeps it. ``id`` is family.file, filled in by the catalogue."""

    id: str
    function: Callable[..., Findings]
    title: str  # the healthy condition
    severity: Severity
    scope: Scope
    remedy: str
    references: tuple[str, ...]
    since: str
    owns: tuple[str, ...]  # "Driver.loaded_version": its absence fails this check instead of skipping it
    inputs: tuple[tuple[str, Any], ...]  # parameter name and annotation
    params: Any  # the module's Params class, or None
    doc: str


def check(
    *,
    title: str,
    severity: Severity,
    remedy: str,
    since: str,
    references: tuple[str, ...] = (),
    scope: Scope = "node",
    owns: tuple[str, ...] = (),
) -> Callable[[Callable[..., Findings]], Check]:
    """Declare a check. The function's annotations are its inputs: facts by type, ``Profile``, ``Params``."""
    if severity not in SEVERITIES:
        raise ValueError(f"severity is {severity!r}, wanted one of {', '.join(SEVERITIES)}")

    def declare(function: Callable[..., Findings]) -> Check:
        annotations = {name: kind for name, kind in function.__annotations__.items() if name != "return"}
        params = next((kind for kind in annotations.values() if getattr(kind, "__name__", "") == "Params"), None)
        return Check(
            id=function.__name__,
            function=function,
            title=title,
            severity=severity,
            scope=scope,
            remedy=remedy,
            references=references,
            since=since,
            owns=owns,
            inputs=tuple(annotations.items()),
            params=params,
            doc=(function.__doc__ or ""),
        )

    return declare
