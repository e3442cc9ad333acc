"""The API of checks: ``check``, ``Findings``, ``fail``, ``warn``, ``skip``, ``need``; and ``Family``."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from typing import NamedTuple, NoReturn

from hostagent.core.steps import Step, as_steps, shell
from hostagent.core.unread import Unread, need
from hostagent.core.vocabulary import (
    ACTIONS,
    AXES,
    SCOPES,
    SEVERITIES,
    TOPICS,
    Action,
    Axis,
    Condition,
    PartName,
    Scope,
    Severity,
    Topic,
    Wrong,
)
from hostagent.engine.inputs import Inputs, resolve

__all__ = ["Check", "Family", "Finding", "Findings", "Severity", "Step", "check", "fail", "need", "shell", "skip", "warn"]


class Finding(NamedTuple):
    """What a check yields. No finding means pass."""

    outcome: Wrong
    message: str
    code: str  # stable reason within the check; the report's API
    found: str
    wanted: str
    evidence: tuple[str, ...]
    remedy: tuple[Step, ...]  # () for the check's own
    at_least: Severity | None = None  # it weighs no less, whatever the axis of its check does by default
    at_most: Severity | None = None  # it weighs no more than that
    because: tuple[str, ...] | None = None  # checks that may be its cause; None for those of its check
    headline: str = ""  # "" for the check's own
    about: "str | Unread" = ""  # the device or the unread question that it is about, "" for the check's own subject


Findings = Iterator[Finding]


class NotApplicable(Exception):  # noqa: N818  an outcome, not an error
    """Raised by `skip`; `evaluate` turns it into the outcome ``skip``."""


def skip(reason: str) -> NoReturn:
    """End the check: it does not apply to this subject or host. `reason` completes "does not apply (…)"."""
    raise NotApplicable(need(reason))


def fail(
    message: str,
    *,
    code: str,
    found: object = "",
    wanted: object = "",
    evidence: tuple[str, ...] = (),
    remedy: "str | tuple[Step, ...]" = (),
    action: Action = "none",
    headline: str = "",
    at_least: Severity | None = None,
    at_most: Severity | None = None,
    because: tuple[()] | None = None,
    about: "str | Unread" = "",
) -> Finding:
    """The healthy condition does not hold. `found` and `wanted` are printed in that order.

    `headline`, `remedy` and `action` are the check's own where the finding brings none; a remedy that is one text is one step of that
    `action`. One finding of a check can weigh more or less than the check itself: `at_most` "info" is worth knowing and counts in no
    verdict. `because` () is for a finding that is its own cause, whatever its check has. `about` is the key of the device that it
    concerns (a GPU's PCI address), where the check is about the whole host; or the ``Unread`` that it explains: unknowns for want of the
    same answer are grouped under it.
    """
    made = _finding("fail", message, code, found, wanted, evidence, as_steps(remedy, action), headline)
    return made._replace(at_least=at_least, at_most=at_most, because=because, about=about)


def warn(
    message: str,
    *,
    code: str,
    found: object = "",
    wanted: object = "",
    evidence: tuple[str, ...] = (),
    remedy: "str | tuple[Step, ...]" = (),
    action: Action = "none",
    headline: str = "",
    at_most: Severity | None = None,
    because: tuple[()] | None = None,
    about: "str | Unread" = "",
) -> Finding:
    """The condition holds but will not for long, or holds only in part: degraded, still placeable. The rest is as of ``fail``."""
    made = _finding("warn", message, code, found, wanted, evidence, as_steps(remedy, action), headline)
    return made._replace(at_most=at_most, because=because, about=about)


def _finding(
    outcome: Wrong,
    message: str,
    code: str,
    found: object,
    wanted: object,
    evidence: tuple[str, ...],
    remedy: tuple[Step, ...],
    headline: str,
) -> Finding:
    """No part of a finding may be unread: it would end as a report that cannot be printed."""
    shown = tuple(_shown(line) for line in evidence)
    return Finding(outcome, need(message), code, _shown(found), _shown(wanted), shown, need(remedy), headline=need(headline))


def _shown(value: object) -> str:
    need(value)
    if isinstance(value, tuple | list):
        return ", ".join(_shown(item) for item in value) or "none"
    return "yes" if value is True else "no" if value is False else str(value)


class Family(NamedTuple):
    """Defaults for the checks of a family: ``FAMILY`` in its ``__init__``."""

    title: str
    order: int  # display order of families, causes before their consequences
    condition: Condition = ""  # the condition of a node that its critical checks decide
    part: PartName = ""  # the part of the host that its checks judge, where the provider may own it


#: A family without a ``FAMILY``.
UNTITLED = Family("", sys.maxsize)


class Check(NamedTuple):
    """A check as the catalogue keeps it. ``id`` is family.file, filled in by the catalogue, and so is ``family``."""

    id: str
    function: Callable[..., Findings]
    title: str  # the healthy condition
    severity: Severity
    scope: Scope
    remedy: tuple[Step, ...]
    references: tuple[str, ...]
    since: str
    owns: tuple[str, ...]  # "Driver.loaded_version": its absence fails this check instead of skipping it
    inputs: Inputs
    doc: str
    order: int  # display order; 0 for that of its family
    family: Family
    axis: Axis
    part: PartName | None  # None: the family's
    proved_by: tuple[str, ...]  # ids of checks: where all of them pass, an unknown of this one stops no job
    because: tuple[str, ...]  # possible causes, ids of checks or ID:CODE: findings of this one are grouped under theirs (of that code)
    headline: str  # what happened, with {device}, {found} and {wanted}; "" where the message says it
    confirm: tuple[str, ...]  # shell commands that show the fault and change nothing: "lspci -s <address>  # what to look for"
    explains: tuple[Topic, ...]  # of a job's log by NCCL, see `hostagent.domains.nccl.tables.host_topics`


def id_of(cause: str) -> str:
    """The check that a name in ``because`` means: an id, or an id and the code of its finding.

    >>> id_of("gpu.present:none"), id_of("gpu.lost")
    ('gpu.present', 'gpu.lost')
    """
    return cause.partition(":")[0]


def check(
    *,
    title: str,
    severity: Severity,
    remedy: "str | tuple[Step, ...]",
    since: str,
    action: Action = "none",
    headline: str = "",
    references: tuple[str, ...] = (),
    scope: Scope = "node",
    owns: tuple[str, ...] = (),
    order: int = 0,
    axis: Axis = "fitness",
    part: PartName | None = None,
    proved_by: tuple[str, ...] = (),
    because: tuple[str, ...] = (),
    confirm: tuple[str, ...] = (),
    explains: tuple[Topic, ...] = (),
) -> Callable[[Callable[..., Findings]], Check]:
    """Declare a check. The function's annotations are its inputs: facts by type, ``Profile``, ``Params``. Raises ``ValueError``.

    `order` is for a check with another place than its family, such as a cause of findings of other families.
    `axis` "security" is for published vulnerabilities: the profile's ``security`` sets how they count. `proved_by` are checks that show
    the same function at work now; never for a check that has the only evidence: a GPU's health, the kernel log, access.
    `because` are possible causes, the likeliest first: checks, or ID:CODE for one finding of a check.
    `part` "" is for a check that is not about the part of its family. `headline` says what happened: "{device} has fallen
    off the PCIe bus". A `remedy` that is one text is one step of that `action`. `confirm` are commands. `explains` are topics of a job's
    log that its findings are a reason for.
    """
    choices = (("severity", severity, SEVERITIES), ("scope", scope, SCOPES), ("axis", axis, AXES), ("action", action, ACTIONS))
    for what, word, wanted in (*choices, *(("explains", topic, TOPICS) for topic in explains)):
        _want(what, word, wanted)

    def declare(function: Callable[..., Findings]) -> Check:
        inputs = resolve(function)
        _refuse_unknown_absences(owns, inputs)
        named = (title, severity, scope, as_steps(remedy, action), references, since, owns, inputs, function.__doc__ or "")
        return Check(function.__name__, function, *named, order, UNTITLED, axis, part, proved_by, because, headline, confirm, explains)

    return declare


def _want(what: str, word: str, words: tuple[str, ...]) -> None:
    if word not in words:
        raise ValueError(f"{what} is {word!r}, wanted one of {', '.join(words)}")


def _refuse_unknown_absences(owns: tuple[str, ...], inputs: Inputs) -> None:
    """Refuses absences of collections: they are for the subject and single facts."""
    kinds = (*((inputs.subject[1],) if inputs.subject else ()), *inputs.facts.values())
    known = [f"{kind.__name__}.{field.name}" for kind in kinds for field in fields(kind)] if owns else []
    for path in owns:
        if path not in known:
            import difflib  # only on the error path

            close = difflib.get_close_matches(path, known, n=1)
            names = " and ".join(kind.__name__ for kind in kinds) or "none"
            raise ValueError(f"owns {path!r}, wanted a field of its inputs ({names}){f', perhaps {close[0]}' if close else ''}")
