"""The report for a person at a terminal: readable in ten seconds, from the top."""

import textwrap

from hostagent.report import Report
from hostagent.sinks.digest import (
    FULL,
    Entry,
    Section,
    brief,
    cage_lines,
    checks_phrase,
    details,
    host_line,
    moment,
    remarks,
    rest,
    sections,
    summary,
    verdict_lines,
)
from hostagent.steps import in_words
from hostagent.visible import visible

_COLOURS = {
    "not_ready": "\x1b[1;31m",
    "unknown": "\x1b[1;35m",
    "degraded": "\x1b[1;33m",
    "ready": "\x1b[1;32m",
    "BLOCKS JOBS": "\x1b[1;31m",
    "TO LOOK AT": "\x1b[1;33m",
    "COULD NOT READ": "\x1b[1;35m",
    "critical": "\x1b[31m",
}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_EVIDENCE_LINES = 3
_MIN_WIDTH = 40


def render_text(report: Report, *, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """Lines of at most `width` columns, except for words that are longer. `verbose` adds what passed and what did not apply."""
    page = _Page(colour, max(width, _MIN_WIDTH))
    for verdict, sentence in verdict_lines(report):
        page.add(sentence, style=verdict)
    page.add(host_line(report))
    for remark in (*remarks(report), f"read at {moment(report.observed_at)}"):
        page.add(remark)
    for line in cage_lines(report) if verbose else ():
        page.add(visible(line))
    for section in sections(report) + (rest(report) if verbose else ()):
        _add_section(page, section)
    page.lines.append("")
    page.add(summary(report))
    return "\n".join(page.lines) + "\n"


class _Page:
    """Lines so far, and how to add to them."""

    def __init__(self, colour: bool, width: int) -> None:
        self.lines: list[str] = []
        self._colour = colour
        self._width = width

    def add(self, text: str, first: str = "", then: str = "", style: str = "") -> None:
        """`text`, wrapped; `first` and `then` indent the first and the following lines."""
        wrapped = textwrap.wrap(
            text, self._width, initial_indent=first, subsequent_indent=then or first, break_long_words=False, break_on_hyphens=False
        )
        code = (_COLOURS.get(style, _BOLD) if style else "") if self._colour else ""
        self.lines += [f"{code}{line}{_PLAIN}" if code else line for line in wrapped]


def _add_section(page: _Page, section: Section) -> None:
    page.lines.append("")
    page.add(section.heading, style=section.title)
    told = ("", "")
    for entry in section.entries:
        if section.title in FULL:
            remedy = (entry.finding.id, in_words(entry.finding.remedy))
            _add_finding(page, entry, "as above" if remedy == told else in_words(entry.finding.remedy))
            told = remedy
        else:
            page.add(brief(entry), "  ", "      ")


def _add_finding(page: _Page, entry: Entry, remedy: str) -> None:
    one = entry.finding
    severity = "warning" if one.outcome == "warn" else one.severity  # what it does to the verdict
    critical = "critical" if severity == "critical" else ""
    page.add(f"{severity}  {checks_phrase(entry)}  {visible(one.message)}", "  ", "      ", style=critical)
    for label, text in details(entry):
        page.add(visible(text), f"      {label:8}", " " * 14)
    for line in one.evidence[:_EVIDENCE_LINES]:
        page.add(visible(line), f"      {'seen':8}", " " * 14)
    if len(one.evidence) > _EVIDENCE_LINES:
        page.add(f"and {len(one.evidence) - _EVIDENCE_LINES} more, all of them with --format json", " " * 14)
    if in_words(one.remedy):
        page.add(visible(remedy), f"      {'remedy':8}", " " * 14)
