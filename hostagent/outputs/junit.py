"""The report as JUnit XML: one suite per family, one case per finding."""

# Elements and attributes are those that Jenkins' xUnit plug-in takes (`testsuites` has no `skipped`); xmllint checks them against
# a DTD.

import time
from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from hostagent.core.steps import in_words
from hostagent.engine.report import Judgement, Report
from hostagent.engine.report.exit_code import Asked
from hostagent.engine.report.host_coverage import gap_in_words, gap_word
from hostagent.outputs.markup import escaped

_KINDS = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))


class _Case(NamedTuple):
    """A test case: its result ("" passed), and its lines."""

    family: str
    name: str
    kind: str
    lines: tuple[str, ...]


def render_junit(report: Report, asked: Asked) -> str:
    """A finding that sets the exit code is a failure, or an error where it is unknown; a check that does not apply is skipped.

    JUnit has no warnings: findings that do not set the exit code pass, with their text in ``system-out``. Where no check that counts was
    judged, the verdict itself is an error, because such a run fails, too.
    """
    findings = sorted(report.findings, key=lambda one: (_family(one), one.id, one.subject))
    cases = [_case(one, asked) for one in findings]
    if not asked.succeeds(report) and not any(one.kind in ("failure", "error") for one in cases):
        cases.append(_nothing_checked())
    if word := gap_word(report):
        cases.append(_not_read(word))
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<testsuites name="hostagent" {_counts(cases, _KINDS[:2])}>']
    about = f'hostname="{escaped(report.host.hostname)}"{_timestamp(report.observed_at)}'
    for family, members in groupby(cases, lambda one: one.family):
        suite = list(members)
        lines.append(f'  <testsuite name="{escaped(family)}" {_counts(suite, _KINDS)} {about}>')
        lines += [line for one in suite for line in one.lines]
        lines.append("  </testsuite>")
    return "\n".join((*lines, "</testsuites>")) + "\n"


def _family(one: Judgement) -> str:
    return one.id.rpartition(".")[0]


def _counts(cases: list[_Case], kinds: Iterable[tuple[str, str]]) -> str:
    became = [one.kind for one in cases]
    return " ".join((f'tests="{len(cases)}"', *(f'{name}="{became.count(kind)}"' for name, kind in kinds)))


def _timestamp(seconds: float) -> str:
    try:
        return time.strftime(' timestamp="%Y-%m-%dT%H:%M:%S"', time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return ""


def _case(one: Judgement, asked: Asked) -> _Case:
    family, _, check = one.id.rpartition(".")
    name = check + (f" [{one.subject}]" if one.subject else "")
    kind = _kind(one, asked)
    head = f'    <testcase classname="{escaped(family)}" name="{escaped(name)}" time="0"'
    if not kind and one.outcome == "pass":
        return _Case(family, name, kind, (f"{head}/>",))
    return _Case(family, name, kind, (f"{head}>", f"      {_outcome(one, kind)}", "    </testcase>"))


def _kind(one: Judgement, asked: Asked) -> str:
    if asked.is_failed_by(one):
        return "error" if one.outcome == "unknown" else "failure"
    return "skipped" if one.outcome in ("skip", "off") else ""


def _outcome(one: Judgement, kind: str) -> str:
    if kind == "skipped":
        return f'<skipped message="{escaped(one.message)}"/>'
    lines = (*_lines(one),) if kind else (f"{one.severity} {one.outcome}: {one.message}", *_lines(one))
    body = "\n".join(escaped(line) for line in lines)
    if kind:
        return f'<{kind} type="{escaped(one.code)}" message="{escaped(one.headline or one.message)}">{body}</{kind}>'
    return f"<system-out>{body}</system-out>"


def _lines(one: Judgement) -> tuple[str, ...]:
    pairs = (
        ("message", one.message if one.headline else ""),
        ("severity", one.severity),
        ("found", one.found),
        ("wanted", one.wanted),
        ("remedy", in_words(one.remedy)),
    )
    commands = (f"command: {step.command}" for step in one.remedy if step.command)
    return (*(f"{label}: {text}" for label, text in pairs if text), *commands, *one.evidence)


def _not_read(word: str) -> _Case:
    lines = (
        '    <testcase classname="coverage" name="coverage" time="0">',
        f'      <skipped message="{escaped(gap_in_words(word))}"/>',
        "    </testcase>",
    )
    return _Case("coverage", "coverage", "skipped", lines)


def _nothing_checked() -> _Case:
    lines = (
        '    <testcase classname="verdict" name="verdict" time="0">',
        '      <error type="nothing-checked" message="Nothing was checked that counts"/>',
        "    </testcase>",
    )
    return _Case("verdict", "verdict", "error", lines)
