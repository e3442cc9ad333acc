"""The report as JUnit XML: one suite a family, one case a check and subject."""

import time
from itertools import groupby

from hostagent.report import Judgement, Report
from hostagent.sinks.markup import escaped
from hostagent.steps import in_words


def render_junit(report: Report) -> str:
    """A finding that counts against the verdict is a failure, an unknown an error, what did not apply is skipped.

    JUnit has no word for a warning: those pass, and say so in ``system-out``; ``info`` never fails a build.
    """
    findings = sorted(report.findings, key=lambda one: (_family(one), one.id, one.subject))
    lines = ['<?xml version="1.0" encoding="utf-8"?>', f'<testsuites name="hostagent" {_counts(findings)}>']
    for family, members in groupby(findings, _family):
        suite = list(members)
        when = _timestamp(report.observed_at)
        lines.append(f'  <testsuite name="{escaped(family)}" {_counts(suite)} hostname="{escaped(report.host.hostname)}"{when}>')
        for one in suite:
            lines += _case(one, family)
        lines.append("  </testsuite>")
    return "\n".join((*lines, "</testsuites>")) + "\n"


def _family(one: Judgement) -> str:
    return one.id.rpartition(".")[0]


def _kind(one: Judgement) -> str:
    if one.outcome == "fail" and one.severity != "info":
        return "failure"
    return {"unknown": "error", "skip": "skipped", "off": "skipped"}.get(one.outcome, "")


def _counts(findings: list[Judgement]) -> str:
    kinds = [_kind(one) for one in findings]
    counts = (("failures", "failure"), ("errors", "error"), ("skipped", "skipped"))
    return " ".join((f'tests="{len(findings)}"', *(f'{name}="{kinds.count(kind)}"' for name, kind in counts)))


def _timestamp(seconds: float) -> str:
    try:
        return time.strftime(' timestamp="%Y-%m-%dT%H:%M:%S"', time.gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return ""


def _case(one: Judgement, family: str) -> list[str]:
    name = one.id.rpartition(".")[2] + (f" [{one.subject}]" if one.subject else "")
    head = f'    <testcase classname="{escaped(family)}" name="{escaped(name)}" time="0"'
    kind = _kind(one)
    if kind == "skipped":
        return [f"{head}>", f'      <skipped message="{escaped(one.message)}"/>', "    </testcase>"]
    if kind:
        body = "\n".join(escaped(line) for line in _told(one))
        return [f"{head}>", f'      <{kind} type="{escaped(one.code)}" message="{escaped(one.message)}">{body}</{kind}>', "    </testcase>"]
    if one.outcome == "pass":
        return [f"{head}/>"]
    body = "\n".join(escaped(line) for line in (f"{one.severity} {one.outcome}: {one.message}", *_told(one)))
    return [f"{head}>", f"      <system-out>{body}</system-out>", "    </testcase>"]


def _told(one: Judgement) -> tuple[str, ...]:
    pairs = (("severity", one.severity), ("found", one.found), ("wanted", one.wanted), ("remedy", in_words(one.remedy)))
    return (*(f"{label}: {text}" for label, text in pairs if text), *one.evidence)
