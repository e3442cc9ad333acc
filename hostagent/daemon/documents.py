"""Writes report and summary of each pass as JSON, and reuses the text of parts that did not change since the pass before."""

import contextlib
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from hostagent.core.deadline import COMPUTING_S, processor_limit
from hostagent.core.errors import OutOfTime
from hostagent.daemon.debounce import State
from hostagent.engine.report import Judgement, Report, shortened
from hostagent.engine.report.node_summary import of_now, summary
from hostagent.outputs.json import render_json


class Documents:
    """Keeps the texts from one pass to the next."""

    def __init__(self) -> None:
        self._findings: dict[tuple[str, str, str], tuple[Judgement, str]] = {}
        self._facts: tuple[Any, str] = (None, "")
        self._summary: tuple[Any, Any, dict[str, Any]] = ((), None, {})

    def report(self, report: Report) -> str:
        """As JSON of one line: with line breaks it costs five times as much; a report that takes too long to write is shortened."""
        with contextlib.suppress(OutOfTime), processor_limit(COMPUTING_S):
            return "{" + ",".join(f'"{one.name}":{self._text(one.name, getattr(report, one.name))}' for one in fields(report)) + "}\n"
        return render_json(shortened(report), None)

    def summary(self, report: Report, published: State) -> dict[str, Any]:
        """With the published verdict in place of the measured one."""
        instead = (published.verdicts, published.headline_beside(report.verdict))
        key = (instead, report.verdict, report.host, report.boot_id, report.security, report.findings)
        before, facts, document = self._summary
        is_same = facts is report.facts and before == key
        self._summary = (key, report.facts, of_now(document, report) if is_same else summary(report, *instead))
        return self._summary[2]

    def _text(self, name: str, value: Any) -> str:
        if name == "facts":
            if value is not self._facts[0]:
                self._facts = (value, _line(value))
            return self._facts[1]
        return f"[{','.join(self._each(value))}]" if name == "findings" else _line(value)

    def _each(self, findings: Iterable[Judgement]) -> Iterable[str]:
        before, self._findings = self._findings, {}
        for one in findings:
            key = (one.id, one.subject, one.code)
            was, text = before.get(key, (None, ""))
            self._findings[key] = (one, text if was == one else _line(one))
            yield self._findings[key][1]


def _line(value: Any) -> str:
    return render_json(value, None).rstrip("\n")
