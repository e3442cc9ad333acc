"""The report as one page of HTML that needs nothing else: to attach to a ticket or open in a browser."""

from hostagent.report import Report
from hostagent.sinks.digest import (
    FULL,
    Entry,
    Section,
    brief,
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
from hostagent.sinks.markup import escaped
from hostagent.steps import in_words

_STYLE = """
:root { color-scheme: light dark; --bad: #b00020; --warn: #8a5a00; --unknown: #6a3fa0; --good: #1b6e2f; --line: #8886; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --warn: #ffc35c; --unknown: #c9a6ff; --good: #7fd99a; } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; margin: .2rem 0; } h2 { font-size: 1.05rem; margin: 1.8rem 0 .4rem; }
.not_ready, .fail { color: var(--bad); } .degraded, .warn { color: var(--warn); }
.unknown { color: var(--unknown); } .ready, .pass { color: var(--good); }
article { border-top: 1px solid var(--line); padding: .6rem 0; } article p { margin: 0; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: 5rem 1fr; gap: 0 .8rem; margin: .3rem 0 0; }
dt { opacity: .7; } dd { margin: 0; overflow-wrap: anywhere; white-space: pre-wrap; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; } summary { cursor: pointer; }
footer { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: .6rem; opacity: .8; }
"""


def render_html(report: Report) -> str:
    """No script, no link, nothing fetched; every text of the host escaped."""
    headline = "".join(f'<h1 class="{verdict}">{escaped(sentence)}</h1>\n' for verdict, sentence in verdict_lines(report))
    told = "".join(f"<p>{escaped(remark)}</p>\n" for remark in remarks(report))
    body = "".join(_section(section) for section in sections(report))
    hidden = "".join(f"<details><summary>{section.title.capitalize()}</summary>{_entries(section)}</details>\n" for section in rest(report))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>hostagent: {escaped(report.host.hostname)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n{headline}<p>{escaped(host_line(report))}</p>\n{told}</header>\n<main>\n{body}{hidden}</main>\n"
        f"<footer>{escaped(summary(report))}; read at {escaped(moment(report.observed_at))} by {escaped(report.tool.name)} "
        f"{escaped(report.tool.version)}, profile {escaped(report.profile.hash)}</footer>\n</body>\n</html>\n"
    )


def _section(section: Section) -> str:
    return f"<section>\n<h2>{section.heading.capitalize()}</h2>\n{_entries(section)}</section>\n"


def _entries(section: Section) -> str:
    if section.title in FULL:
        return "".join(_finding(entry) for entry in section.entries)
    return "".join(f"<article><p>{escaped(brief(entry))}</p></article>\n" for entry in section.entries)


def _finding(entry: Entry) -> str:
    one = entry.finding
    head = f'<strong class="{one.outcome}">{one.severity}</strong> <code>{escaped(checks_phrase(entry))}</code> {escaped(one.message)}'
    seen = "\n".join(escaped(line) for line in one.evidence)
    rows = [(label, escaped(text)) for label, text in details(entry)]
    rows += [("seen", f"<code>{seen}</code>")] if seen else []
    rows += [("remedy", escaped(in_words(one.remedy)))] if in_words(one.remedy) else []
    told = "".join(f"<dt>{label}</dt><dd>{text}</dd>" for label, text in rows)
    return f"<article>\n<p>{head}</p>\n<dl>{told}</dl>\n</article>\n"
