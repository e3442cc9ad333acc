"""The report as one page of HTML that needs nothing else: to attach to a ticket or open in a browser."""

from collections.abc import Iterable

from hostagent.report import Judgement, Report
from hostagent.report.told import Group, Told, devices, headline
from hostagent.sinks.digest import (
    Gap,
    Section,
    gaps,
    host_line,
    remarks,
    sections,
    skipped,
    summary,
    todo,
    told_line,
    turned_off,
    verdict_lines,
)
from hostagent.sinks.markup import escaped
from hostagent.sinks.words import WORDS
from hostagent.steps import Step
from hostagent.visible import visible

_STYLE = """
:root { color-scheme: light dark; --bad: #b00020; --warn: #8a5a00; --unknown: #6a3fa0; --good: #1b6e2f; --note: #555;
  --line: #8885; --soft: #8881; }
@media (prefers-color-scheme: dark) { :root { --bad: #ff8a80; --warn: #ffc35c; --unknown: #c9a6ff; --good: #7fd99a; --note: #aaa; } }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.25rem; font-weight: 400; margin: .4rem 0; } h2 { font-size: 1.05rem; margin: 2rem 0 .4rem; }
h3 { font-size: 1rem; margin: 0 0 .3rem; } p, li { overflow-wrap: anywhere; } header p { margin: .1rem 0; color: var(--note); }
.badge { font-weight: 700; font-size: .9rem; padding: .15rem .6rem; border: 2px solid; border-radius: .3rem; margin-right: .5rem;
  white-space: nowrap; }
.bad, .not_ready { color: var(--bad); } .warn, .degraded { color: var(--warn); } .unknown { color: var(--unknown); }
.good, .ready { color: var(--good); } .note { color: var(--note); }
.todo { border: 1px solid var(--line); border-radius: .4rem; padding: .2rem 1rem; margin: 1.2rem 0; background: var(--soft); }
.todo li { margin: .4rem 0; } article { border-left: .25rem solid; padding: .1rem 0 .1rem .8rem; margin: 1rem 0; }
article > * { color: CanvasText; } table { border-collapse: collapse; width: 100%; }
td, th { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere; }
code, pre { font-family: ui-monospace, monospace; font-size: .9em; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; user-select: all; }
summary { cursor: pointer; } a { color: inherit; }
footer { border-top: 1px solid var(--line); margin-top: 2rem; padding-top: .6rem; color: var(--note); }
@media print { body { max-width: none; margin: 0; } article, li, tr { break-inside: avoid; } details > * { display: block; } }
"""
#: By how much a cause counts: its colour.
_COLOURS = ("bad", "unknown", "warn", "note")


def render_html(report: Report) -> str:
    """No script, nothing fetched; every text of the host escaped. Links lead to places of the page alone."""
    badges = "".join(_verdict(report, verdict, sentence) for verdict, sentence in verdict_lines(report))
    told = "".join(f"<p>{escaped(remark)}</p>\n" for remark in remarks(report))
    body = "".join(_section(section) for section in sections(report))
    tables = _gaps(gaps(report)) + _rows("Turned off", turned_off(report)) + _passed(report) + _rows("Not applicable", skipped(report))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(WORDS[report.verdict.single_node])}: {escaped(report.host.hostname)}</title>\n"
        f"<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n{badges}<p>{escaped(host_line(report))}</p>\n{told}</header>\n<main>\n{_todo(todo(report))}{body}{tables}</main>\n"
        f"<footer>{escaped(summary(report))}. {escaped(report.tool.name)} {escaped(report.tool.version)}, "
        f"profile {escaped(report.profile.hash)}</footer>\n</body>\n</html>\n"
    )


def _verdict(report: Report, verdict: str, sentence: str) -> str:
    word, _, rest = sentence.partition("  ")
    return f'<h1><strong class="badge {verdict}">{escaped(word)}</strong> {escaped(rest)}</h1>\n'


def _todo(steps: tuple[Step, ...]) -> str:
    if not steps:
        return ""
    items = "".join(_step(step) for step in steps)
    return f'<section class="todo">\n<h2>What to do</h2>\n<ol>\n{items}</ol>\n</section>\n'


def _step(step: Step) -> str:
    text = f"If it comes back: {step.text}" if step.if_back else step.text
    command = f"<pre>{escaped(visible(step.command))}</pre>" if step.command else ""
    return f"<li>{escaped(visible(text))}{command}</li>\n"


def _section(section: Section) -> str:
    return f"<section>\n<h2>{escaped(section.heading.capitalize())}</h2>\n{''.join(map(_group, section.groups))}</section>\n"


def _group(group: Group) -> str:
    one = group.cause.finding
    rows = "".join(_finding(told, group) for told in group.members)
    evidence = [line for told in group.members for line in told.finding.evidence]
    seen = "\n".join(escaped(visible(line)) for line in dict.fromkeys(evidence))
    folded = f"<details><summary>Evidence</summary><pre>{seen}</pre></details>\n" if seen else ""
    colour = _COLOURS[group.rank]
    head = f'<article class="{colour}" id="{escaped(one.id)}">\n<h3>{escaped(headline(group))}</h3>\n'
    return f"{head}<table>\n{rows}</table>\n{folded}</article>\n"


def _finding(told: Told, group: Group) -> str:
    where = f"{devices(told.devices)}: " if told.devices and told.devices != group.cause.devices else ""
    return f"<tr><td><code>{escaped(told.finding.id)}</code></td><td>{escaped(where)}{escaped(told_line(told))}</td></tr>\n"


def _gaps(missing: tuple[Gap, ...]) -> str:
    rows = "".join(
        f"<tr><td>{escaped(gap.reason)}</td><td>{escaped(devices(gap.devices))}</td><td>{_codes(gap.ids)}</td></tr>\n" for gap in missing
    )
    checks = len({name for gap in missing for name in gap.ids})
    return f'<section class="unknown">\n<h2>Not checked ({checks})</h2>\n<table>\n{rows}</table>\n</section>\n' if rows else ""


def _rows(title: str, rows: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    told = "".join(f"<tr><td>{escaped(message)}</td><td>{_codes(ids)}</td></tr>\n" for message, ids in rows)
    count = len({name.partition(" ")[0] for _, ids in rows for name in ids})
    return f"<details>\n<summary>{title} ({count})</summary>\n<table>\n{told}</table>\n</details>\n" if rows else ""


def _codes(ids: Iterable[str]) -> str:
    return ", ".join(f"<code>{escaped(name)}</code>" for name in ids)


def _passed(report: Report) -> str:
    by_id: dict[str, list[Judgement]] = {}
    for one in report.findings:
        by_id.setdefault(one.id, []).append(one)
    rows = []
    for name, ones in by_id.items():
        passed = [one for one in ones if one.outcome == "pass"]
        if passed:
            count = f"{len(passed)}/{len(ones)}" if len(ones) > 1 else ""
            rows.append(f"<tr><td><code>{escaped(name)}</code></td><td>{escaped(visible(passed[0].message))}</td><td>{count}</td></tr>\n")
    return f"<details>\n<summary>Passed ({len(rows)})</summary>\n<table>\n{''.join(rows)}</table>\n</details>\n" if rows else ""
