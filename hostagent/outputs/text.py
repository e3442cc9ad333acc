"""The report for a person at a terminal: what happened and what to do, readable in ten seconds."""

# Order of Python's own programs: --color, NO_COLOR, FORCE_COLOR, TERM=dumb, else a terminal has colour. A file has it with
# `--color always` only, because FORCE_COLOR is set for a whole CI job and means its log. Lines are wrapped from 20 columns on,
# commands never.

from collections.abc import Iterable, Sequence

from hostagent.core.text import counted
from hostagent.engine.report import Report
from hostagent.engine.report.grouping import Entry, concerned, devices, headline
from hostagent.engine.report.inventory import inventory
from hostagent.outputs import digest, tables
from hostagent.outputs.counts import summary
from hostagent.outputs.digest import short
from hostagent.outputs.page import Page

#: Steps, rows and names of a list that are printed without -v, and commands of one step.
_STEPS, _ROWS, _NAMES, _COMMANDS = 16, 12, 24, 8
#: Columns that ids of one cause are filled up to.
_ID = 28
#: Characters of a command that a person may type or copy.
_COMMAND = 1000


def render_text(report: Report, *, colour: bool = False, width: int = 100, verbose: bool = False, now: float = 0) -> str:
    """Lines of at most `width` columns, except for longer words, and for commands, which are unwrapped so that they can be copied.

    `verbose` adds evidence, ids, GPUs, and checks that passed or did not apply; only very long texts are capped then.
    `now`: seconds since the epoch, for the age of a recording; 0 to omit it.
    """
    page = Page(colour, width)
    for one in digest.statements(report):
        parts = (short(inventory(report)), one.what) if one.verdict == "ready" else (f"{digest.sentence(one.what)} {one.todo}",)
        text = "; ".join(part for part in parts if part)
        page.add(f"{one.words}  {text}".rstrip(), style=one.verdict)
    remarks = (digest.read_line(report, now), *digest.remarks(report))
    if digest.is_quiet(report) and not verbose:
        _add_quiet(page, report, remarks)
    else:
        _add_all(page, report, remarks, verbose=verbose)
    return "\n".join(page.lines) + "\n"


def _add_quiet(page: Page, report: Report, remarks: Iterable[str]) -> None:
    """A healthy host in a few lines: causes that count in no verdict are only named."""
    page.add(short("; ".join(remarks)))
    for section in digest.sections(report):
        more = len(section.groups) - 1
        text = f"{short(headline(section.groups[0]))}{f', and {more} more (-v)' if more else ''}"
        page.add(f"{section.title}  {text}", then="  ")
    _add_gaps(page, digest.gaps(report), verbose=False)
    _add_list(page, "TURNED OFF", tables.reasons(report, "off"), verbose=False)


def _add_all(page: Page, report: Report, remarks: Iterable[str], *, verbose: bool) -> None:
    page.add(digest.host_line(report))
    page.add(short("; ".join(remarks)))
    for line in digest.cage_lines(report) if verbose else ():
        page.add(short(line))
    for line in digest.gpu_lines(report) if verbose else ():
        page.add(line, "  ", "    ")
    _add_steps(page, report, verbose=verbose)
    sections = digest.sections(report)
    for section in sections:
        if section.counts or verbose:
            _add_section(page, section, verbose=verbose)
    gaps, before = digest.gaps(report), len(page.lines)
    if not verbose:
        _add_notes(page, [section for section in sections if not section.counts], gaps)
    after = len(page.lines)
    if verbose or len(gaps) > 1:
        _add_gaps(page, gaps, verbose=verbose)
    _add_list(page, "TURNED OFF", tables.reasons(report, "off"), verbose=verbose)
    if verbose:
        page.heading("PASSED")
        page.add(", ".join(tables.passed(report)), "  ")
        _add_list(page, "NOT APPLICABLE", tables.reasons(report, "skip"), verbose=True)
    if len(page.lines) > after or after == before:  # one-line notes and the counts are one block
        page.lines.append("")
    why = f"Why: hostagent checks show {digest.short_name(sections[0].groups[0].cause.finding.id)}" if sections else ""
    _add_last(page, f"{summary(report)}.", why)


def _add_steps(page: Page, report: Report, *, verbose: bool) -> None:
    steps = digest.todo(report)
    if not steps:
        return
    page.heading("WHAT TO DO")
    shown = steps if verbose else steps[:_STEPS]
    for number, step in enumerate(shown, 1):
        page.add(f"{number}. {step.text}", "  ", "     ")
        commands = step.commands if verbose else [one for one in step.commands if len(one) <= _COMMAND][:_COMMANDS]
        page.lines += [f"     {command}" for command in commands]
        _add_rest(page, len(step.commands) - len(commands), "command", "     ")
    _add_rest(page, len(steps) - len(shown), "step", "  ")


def _add_rest(page: Page, left: int, word: str, indent: str) -> None:
    if left:
        page.add(f"and {counted(left, word)} more: -v lists all", indent)


def _add_section(page: Page, section: digest.Section, *, verbose: bool) -> None:
    page.heading(f"{section.title} ({section.size})", section.title)
    causes, rest = (section.groups, ()) if verbose else digest.first_causes(section.groups)
    for group in causes:
        affected = concerned(group)
        if affected:
            page.add(short(devices(affected)), "  ")
        indent = "    " if affected else "  "
        members, left = (group.members, ()) if verbose else digest.first_findings(group)
        widest = min(max(len(entry.finding.id) for entry in members), _ID)
        for entry in members:
            where = f"{short(devices(entry.devices))}: " if entry.devices and entry.devices != affected else ""
            name, text = digest.short_name(entry.finding.id), f"{where}{digest.entry_line(entry)}"
            fits = len(indent) + len(name) + 2 + len(text) <= page.width  # a column is not worth a line
            is_wide = len(indent) + widest + 2 + len(text) > page.width
            page.add(f"{name}  {text}" if fits and is_wide else f"{name:<{widest}}  {text}", indent, "        ")
            for line in entry.finding.evidence if verbose else ():
                page.add(short(line), "        ", "            ")
        _add_more(page, left, indent)
    _add_more(page, [entry for group in rest for entry in group.members], "  ")


def _add_notes(page: Page, sections: Sequence[digest.Section], gaps: Sequence[digest.Gap]) -> None:
    """One-line notes: each cause that counts in no verdict, and a missing answer, where it is the only one."""
    if sections or len(gaps) == 1:
        page.lines.append("")
    for section in sections:
        for group in section.groups[:_ROWS]:
            page.add(f"{section.title}  {digest.short_name(group.cause.finding.id)}  {short(headline(group))}", then="  ")
        _add_rest(page, len(section.groups[_ROWS:]), "cause", "  ")
    if len(gaps) == 1:
        page.add(f"NOT CHECKED  {digest.gap_line(gaps[0])}", then="  ", style="NOT CHECKED")


def _add_more(page: Page, rest: Iterable[Entry], indent: str) -> None:
    rows = digest.more(rest)
    for one in rows[:_ROWS]:
        where = f": {short(devices(one.devices))}" if one.devices else ""
        page.add(f"{digest.short_name(one.id)}  {counted(one.number, 'more finding')}{where}", indent, "        ")
    if rows:
        others = sum(one.number for one in rows[_ROWS:])
        page.add(f"{counted(others, 'more finding')} of {len(rows) - _ROWS} checks: -v lists all" if others else "-v lists all", indent)


def _add_gaps(page: Page, missing: Sequence[digest.Gap], *, verbose: bool) -> None:
    if not missing:
        return
    page.heading("NOT CHECKED")
    shown = missing if verbose else missing[:_ROWS]
    for gap in shown:
        page.add(digest.gap_line(gap), "  ", "      ")
        if verbose and len(gap.ids) > 1:
            page.add(", ".join(map(digest.short_name, gap.ids)), "      ")
    _add_rest(page, len(missing) - len(shown), "missing answer", "  ")


def _add_list(page: Page, title: str, reasons: Sequence[tuple[str, tuple[str, ...]]], *, verbose: bool) -> None:
    if not reasons:
        return
    page.heading(title)
    shown = reasons if verbose else reasons[:_ROWS]
    for message, names in shown:
        listed = names if verbose else names[:_NAMES]
        more = f" and {len(names) - len(listed)} more" if len(listed) < len(names) else ""
        page.add(f"{message}: {', '.join(listed)}{more}", "  ", "      ")
    _add_rest(page, len(reasons) - len(shown), "reason", "  ")


def _add_last(page: Page, counts: str, why: str) -> None:
    """On one line where both fit, so that no command is wrapped."""
    if why and len(counts) + len(why) < page.width:
        page.add(f"{counts} {why}")
    else:
        page.add(counts)
        page.add(why)
