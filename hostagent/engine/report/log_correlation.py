"""Correlates a job's log with the reports of its hosts: which of their findings explain it."""

# A host of its own connections with GPUDirect is not asked why others have none. A host that no record names is reported all the
# same: containers and redacted snapshots have other names.

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.steps import Step
from hostagent.core.typed import ShapeError, build
from hostagent.domains.nccl.logs.explanation import Explanation, HostCause, HostCauses
from hostagent.domains.nccl.tables.host_topics import EXPLAINING, GRAVE
from hostagent.engine.report import Report
from hostagent.engine.report.grouping import Group, concerned, first_steps, groups, headline

#: The checks that name each topic.
Explaining = Mapping[str, frozenset[str]]

_TEXT, _DEVICES, _CAUSES = 400, 64, 50
_FOUND = ("fail", "warn")
#: What a host whose connections all use GPUDirect does not explain.
_OF_GPUDIRECT = frozenset({"rdma_no_gdr", "gdr_off"})


def as_report(name: str, saved: Mapping[str, Any]) -> Report:
    """A report from untrusted JSON. Raises ``HostagentError``; names that this release lacks are left out."""
    try:
        found: Report = build(Report, dict(saved), "report", unknown=lambda _: None)
    except ShapeError as error:
        raise HostagentError(
            f"cannot read the report {visible(name)}: {visible(str(error)[:200])}", "Write one with 'hostagent check --format json -o FILE'"
        ) from error
    return found


def joined(found: Explanation, reports: Iterable[Report], in_log: frozenset[str], explaining: Explaining) -> Explanation:
    """The explanation with the findings of each host; `in_log` are the names of hosts in the log's records."""
    return replace(found, host=tuple(_of_host(found, report, in_log, explaining) for report in reports))


def _of_host(found: Explanation, report: Report, in_log: frozenset[str], explaining: Explaining) -> HostCauses:
    named = report.host.hostname
    # NCCL writes the name up to its first dot.
    is_there = bool(named) and named.partition(".")[0] in {one.partition(".")[0] for one in in_log}
    wanted = _wanted(found, named.partition(".")[0] if is_there else "", explaining)
    causes = [_cause(report, _known_cause(group, wanted), codes) for group in groups(report) if (codes := _codes(group, wanted))]
    order = {code: number for number, code in enumerate(wanted)}
    causes.sort(key=lambda one: order[one.codes[0]])
    checks = {check for ids in wanted.values() for check in ids}
    unknown = sorted({one.id for one in report.findings if one.outcome == "unknown" and one.id in checks})
    return HostCauses(visible(named[:_TEXT]), is_there, visible(report.observed_at_iso[:_TEXT]), tuple(causes[:_CAUSES]), tuple(unknown))


def _wanted(found: Explanation, host: str, explaining: Explaining) -> dict[str, frozenset[str]]:
    """By code of each finding of the log, in their order, the checks that may explain it on this host."""
    ends = [end.gdr for end in found.channels if end.host.partition(".")[0] == host] if host else []
    codes = [one.code for one in found.findings if not (one.code in _OF_GPUDIRECT and ends and all(ends))]
    return {code: frozenset().union(*(explaining.get(one, ()) for one in EXPLAINING[code])) for code in codes if code in EXPLAINING}


def _codes(group: Group, wanted: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Codes of the log that this group explains; advice never explains missing RDMA or GPUDirect."""
    found = [entry.finding for entry in group.members if entry.finding.outcome in _FOUND]
    ids = {one.id for one in found}
    grave = {one.id for one in found if one.severity != "info"}
    return tuple(code for code, checks in wanted.items() if checks & (grave if GRAVE & {*EXPLAINING[code]} else ids))


def _known_cause(group: Group, wanted: Mapping[str, frozenset[str]]) -> Group:
    """The group by its cause; where that is unknown, by its first finding that explains the log."""
    if group.cause.finding.outcome in _FOUND:
        return group
    checks = {check for ids in wanted.values() for check in ids}
    first = next(entry for entry in group.members if entry.finding.outcome in _FOUND and entry.finding.id in checks)
    return Group(first, (), (), group.rank)


def _cause(report: Report, group: Group, codes: tuple[str, ...]) -> HostCause:
    own = group.cause.finding
    return HostCause(
        codes=codes,
        id=visible(own.id[:_TEXT]),
        outcome=own.outcome,
        devices=tuple(visible(one[:_TEXT]) for one in concerned(group)[:_DEVICES]),
        headline=headline(group)[:_TEXT],
        message=visible(own.message[:_TEXT]),
        action=own.action,
        remedy=tuple(_shown(step) for step in first_steps(report, group)),
    )


def _shown(step: Step) -> Step:
    """Escapes the text and the command: the report is untrusted."""
    return replace(step, text=visible(step.text[:_TEXT]), command=visible(step.command[: 4 * _TEXT]))
