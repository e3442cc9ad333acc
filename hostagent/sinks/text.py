"""The report for a person at a terminal: what happened and what to do, readable in ten seconds."""

import textwrap
from collections.abc import Iterable

from hostagent.report import Report
from hostagent.report.told import Group, Told, devices, headline
from hostagent.sinks.digest import (
    Gap,
    Section,
    cage_lines,
    gaps,
    gpu_lines,
    host_line,
    is_quiet,
    passed,
    remarks,
    sections,
    skipped,
    summary,
    todo,
    told_line,
    turned_off,
    verdict_lines,
)
from hostagent.visible import visible

_COLOURS = {
    "not_ready": "\x1b[1;31m",
    "unknown": "\x1b[1;35m",
    "degraded": "\x1b[1;33m",
    "ready": "\x1b[1;32m",
    "BLOCKS JOBS": "\x1b[1;31m",
    "TO LOOK AT": "\x1b[1;33m",
    "NOT CHECKED": "\x1b[1;35m",
}
_BOLD, _PLAIN = "\x1b[1m", "\x1b[0m"
_MIN_WIDTH = 40


def render_text(report: Report, *, colour: bool = False, width: int = 100, verbose: bool = False) -> str:
    """Lines of at most `width` columns, except for words that are longer. `verbose` adds GPUs, evidence and what passed."""
    page = _Page(colour, max(width, _MIN_WIDTH))
    for verdict, sentence in verdict_lines(report):
        page.add(sentence, style=verdict)
    if is_quiet(report) and not verbose:
        _add_quiet(page, report)
    else:
        _add_all(page, report, verbose=verbose)
    return "\n".join(page.lines) + "\n"


def _add_quiet(page: "_Page", report: Report) -> None:
    """A healthy host in a few lines: what counts in no verdict is named, not told."""
    page.add(visible("; ".join(remarks(report))))
    for section in sections(report):
        more = len(section.groups) - 1
        page.add(f"{section.title}  {headline(section.groups[0])}{f', and {more} more (-v tells them)' if more else ''}", then="  ")
    _add_gaps(page, gaps(report), verbose=False)
    _add_list(page, "TURNED OFF", turned_off(report))


def _add_all(page: "_Page", report: Report, *, verbose: bool) -> None:
    page.add(host_line(report))
    for remark in (*remarks(report), *(cage_lines(report) if verbose else ())):
        page.add(visible(remark))
    for line in gpu_lines(report) if verbose else ():
        page.add(line, "  ", "    ")
    _add_steps(page, report)
    told = sections(report)
    for section in told:
        _add_section(page, section, verbose=verbose)
    _add_gaps(page, gaps(report), verbose=verbose)
    _add_list(page, "TURNED OFF", turned_off(report))
    if verbose:
        page.heading("PASSED")
        page.add(", ".join(passed(report)), "  ")
        _add_list(page, "NOT APPLICABLE", skipped(report))
    page.lines.append("")
    _add_last(page, f"{summary(report)}.", f"Why: hostagent checks show {told[0].groups[0].cause.finding.id}" if told else "")


class _Page:
    """Lines so far, and how to add to them."""

    def __init__(self, colour: bool, width: int) -> None:
        self.lines: list[str] = []
        self._colour = colour
        self.width = width

    def add(self, text: str, first: str = "", then: str = "", style: str = "") -> None:
        """`text`, wrapped; `first` and `then` indent the first and the following lines."""
        wrapped = textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=then or first, break_long_words=False, break_on_hyphens=False
        )
        code = (_COLOURS.get(style, _BOLD) if style else "") if self._colour else ""
        self.lines += [f"{code}{line}{_PLAIN}" if code else line for line in wrapped]

    def heading(self, text: str, style: str = "") -> None:
        self.lines.append("")
        self.add(text, style=style or text)


def _add_steps(page: _Page, report: Report) -> None:
    steps = todo(report)
    if not steps:
        return
    page.heading("WHAT TO DO")
    for number, step in enumerate(steps, 1):
        text = f"If it comes back: {step.text}" if step.if_back else step.text
        page.add(f"{number}. {visible(text)}", "  ", "     ")
        if step.command:
            page.lines.append(f"     {visible(step.command)}")


def _add_section(page: _Page, section: Section, *, verbose: bool) -> None:
    page.heading(section.heading, section.title)
    for group in section.groups:
        if group.cause.devices:
            page.add(devices(group.cause.devices), "  ")
        for told in group.members:
            _add_finding(page, told, group, verbose=verbose)


def _add_finding(page: _Page, told: Told, group: Group, *, verbose: bool) -> None:
    one = told.finding
    where = f"{devices(told.devices)}: " if told.devices != group.cause.devices and told.devices else ""
    page.add(f"{one.id}  {where}{told_line(told)}", "    " if group.cause.devices else "  ", "        ")
    for line in one.evidence if verbose else ():
        page.add(visible(line), "        ", "            ")


def _add_gaps(page: _Page, missing: Iterable[Gap], *, verbose: bool) -> None:
    for number, gap in enumerate(missing):
        if not number:
            page.heading("NOT CHECKED")
        checks = gap.ids[0] if len(gap.ids) == 1 else f"{len(gap.ids)} checks"
        whose = f" of {devices(gap.devices)}" if gap.devices else ""
        others = f". The other {gap.others} passed {'it' if len(gap.ids) == 1 else 'them'}" if gap.others else ""
        page.add(f"{checks}{whose}: {gap.reason}{others}", "  ", "      ")
        if verbose and len(gap.ids) > 1:
            page.add(", ".join(gap.ids), "      ")


def _add_list(page: _Page, title: str, rows: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    for number, (message, ids) in enumerate(rows):
        if not number:
            page.heading(title)
        page.add(f"{message}: {', '.join(ids)}", "  ", "      ")


def _add_last(page: _Page, counts: str, why: str) -> None:
    """On one line where both fit: a command is not torn."""
    if why and len(counts) + len(why) < page.width:
        page.add(f"{counts} {why}")
    else:
        page.add(counts)
        page.add(why)
