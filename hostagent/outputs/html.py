"""The report as one page of HTML that needs nothing else: to attach to a ticket or open in a browser."""

# Open folds on paper need `details::details-content` in current browsers. Chromium makes no window narrower than 500 px, so `make
# look` takes a phone's picture in an iframe. No published page of a check exists: the page names `hostagent checks show ID`.

import re
from collections.abc import Iterable, Sequence

from hostagent.core.text import counted
from hostagent.core.vocabulary import Outcome, Verdict
from hostagent.engine.report import Report
from hostagent.engine.report.grouping import Group, Told, concerned, devices, headline
from hostagent.engine.report.inventory import GPU_FIELDS, gpus, inventory
from hostagent.outputs import digest
from hostagent.outputs.counts import kinds, summary
from hostagent.outputs.digest import WORDS, short, short_name
from hostagent.outputs.markup import escaped
from hostagent.outputs.stylesheet import STYLE
from hostagent.outputs.tables import rows

#: By how much a cause counts: its colour.
_COLOURS = ("bad", "unknown", "warn", "note")
_VERDICTS: dict[Verdict, str] = {"not_ready": "bad", "unknown": "unknown", "degraded": "warn", "ready": "good"}
#: Steps, commands of one step, and missing answers that are seen without opening a fold.
_FIRST = 12
#: The second lock, behind the escaping of every text: a browser runs and fetches nothing here.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_GPU_HEADS = {"index": "GPU", "pci": "Address", "name": "Model", "memory": "Memory", "uuid": "UUID", "serial": "Serial"}
#: A command in the middle of a sentence, as our texts write them.
_QUOTED = re.compile(r"(?<!\w)'([^'\s][^']{0,200})'(?!\w)")
_NO_ANCHOR = re.compile(r"[^A-Za-z0-9_.:-]+")


def render_html(report: Report) -> str:
    """No script, nothing fetched; every text of the host escaped. Links lead to places of the page alone."""
    anchors = _Anchors()
    found = "".join(_section(section, anchors) for section in digest.sections(report))
    tables = (
        _table(report, "off", "off", ("Turned off", "Who turned it off"))
        + _table(report, "pass", "passed", ("Passed", "What holds"))
        + _table(report, "skip", "not applicable", ("Not applicable", "Why"))
    )
    title = f"{WORDS[report.verdict.single_node]}: {short_name(report.host.hostname)}"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<header>\n{_header(report)}</header>\n<main>\n{_todo(digest.todo(report))}{_host(report)}{found}"
        f'{_gaps(digest.gaps(report))}{tables}</main>\n<footer class="quiet">{_footer(report)}</footer>\n</body>\n</html>\n'
    )


class _Anchors:
    """Places of the page, each with a name of its own: a check's second finding is ``gpu.xid-2``."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def of(self, check: str) -> str:
        name = _NO_ANCHOR.sub("-", check[:100])
        self._taken[name] = self._taken.get(name, 0) + 1
        return name if self._taken[name] == 1 else f"{name}-{self._taken[name]}"


def _header(report: Report) -> str:
    told = "".join(map(_statement, digest.statements(report)))
    remarks = "; ".join((digest.read_line(report), *digest.remarks(report)))
    return f'{told}<p class="quiet">{escaped(short_name(report.host.hostname))}, {escaped(remarks)}</p>\n'


def _statement(one: digest.Statement) -> str:
    whose = f'<span class="whose">{escaped(one.whose)}</span>' if one.whose else ""
    badge = f'<strong class="badge {_VERDICTS[one.verdict]}"><span>{WORDS[one.verdict]}</span></strong>'
    return f'<div class="statement">{badge}{whose}\n<h1>{escaped(digest.sentence(one.what))}</h1></div>\n'


def _todo(steps: Sequence[digest.Todo]) -> str:
    if not steps:
        return ""
    items = [f"<li>{prose(step.text)}{_partly([command(one) for one in step.commands], 'command')}</li>\n" for step in steps]
    left = "".join(items[_FIRST:])
    rest = _folded(f"{counted(len(items) - _FIRST, 'step')} more", f"<ul>\n{left}</ul>\n") if left else ""
    return f'<section class="box">\n<h2>What to do</h2>\n<ol>\n{"".join(items[:_FIRST])}</ol>\n{rest}</section>\n'


def _partly(parts: Sequence[str], word: str) -> str:
    """The first of many, and the rest in a fold."""
    first, rest = parts[:_FIRST], parts[_FIRST:]
    return "".join(first) + (_folded(f"{counted(len(rest), word)} more", "".join(rest)) if rest else "")


def prose(text: str) -> str:
    """A sentence whose commands in quotes can be copied."""
    plain = _QUOTED.split(text)
    return "".join(f'<code class="run">{escaped(part)}</code>' if at % 2 else escaped(part) for at, part in enumerate(plain))


def command(text: str) -> str:
    return f'<pre class="run">{escaped(text)}</pre>'


def _host(report: Report) -> str:
    host = report.host
    system = (host.platform, host.os, f"kernel {host.kernel}" if host.kernel else "", host.arch)
    pairs = (
        ("Host", host.hostname),
        ("Inventory", inventory(report)),
        ("System", ", ".join(part for part in system if part)),
        ("Profile", report.profile.name),
    )
    told = "".join(f"<dt>{label}</dt><dd>{escaped(short(text))}</dd>\n" for label, text in pairs if text)
    return f'<section class="facts">\n<dl class="host">\n{told}</dl>\n{_gpus(report)}</section>\n'


def _gpus(report: Report) -> str:
    rows = gpus(report)
    if not rows:
        return ""
    fields = [name for name in GPU_FIELDS if any(row[name] for row in rows)]
    body = "".join(
        f"<tr>{''.join(f'<td>{escaped(short_name(cell))}</td>' for cell in map(row.__getitem__, fields))}</tr>\n" for row in rows
    )
    return _folded(f"{counted(len(rows), 'GPU')}, with address and UUID", _tabled(map(_GPU_HEADS.__getitem__, fields), body, "gpus"))


def _tabled(heads: Iterable[str], body: str, name: str) -> str:
    cells = "".join(f"<th>{head}</th>" for head in heads)
    return f'<table class="{name}">\n<thead><tr>{cells}</tr></thead>\n<tbody>\n{body}</tbody>\n</table>\n'


def _folded(title: str, body: str) -> str:
    return f"<details>\n<summary>{escaped(title)}</summary>\n{body}</details>\n"


def _section(section: digest.Section, anchors: _Anchors) -> str:
    head = f"<h2>{escaped(section.title.capitalize())} <small>{section.size}</small></h2>\n"
    causes, rest = digest.first_causes(section.groups)
    more = _folded(f"{counted(len(rest), 'more cause')} of these", "".join(_group(group, anchors) for group in rest)) if rest else ""
    return f"<section>\n{head}{''.join(_group(group, anchors) for group in causes)}{more}</section>\n"


def _group(group: Group, anchors: _Anchors) -> str:
    one, anchor = group.cause.finding, anchors.of(f"cause-{group.cause.finding.id}")
    first, rest = digest.first_findings(group)
    body = _findings(first, group, anchors)
    if rest:
        body += _folded(counted(len(rest), "more finding"), _findings(rest, group, anchors))
    evidence = dict.fromkeys(line for told in group.members for line in told.finding.evidence)
    if evidence:
        lines = "\n".join(escaped(line) for line in evidence)
        body += _folded(f"Evidence, {counted(len(evidence), 'line')}", f"<pre>{lines}</pre>\n")
    why = f'<p class="quiet">Why: <code class="run">hostagent checks show {escaped(short_name(one.id))}</code></p>\n'
    head = f'<h3><a href="#{anchor}">{escaped(short(headline(group)))}</a></h3>\n'
    return f'<article class="{_COLOURS[group.rank]}" id="{anchor}">\n{head}{body}{why}</article>\n'


def _findings(told: Iterable[Told], group: Group, anchors: _Anchors) -> str:
    return f"<table>\n<tbody>\n{''.join(_finding(one, group, anchors) for one in told)}</tbody>\n</table>\n"


def _finding(told: Told, group: Group, anchors: _Anchors) -> str:
    anchor = anchors.of(told.finding.id)
    where = f"{short(devices(told.devices))}: " if told.devices and told.devices != concerned(group) else ""
    name = f'<a href="#{anchor}"><code>{escaped(short_name(told.finding.id))}</code></a>'
    return f'<tr id="{anchor}"><td>{name}</td><td>{escaped(where + digest.told_line(told))}</td></tr>\n'


def _gaps(missing: Sequence[digest.Gap]) -> str:
    if not missing:
        return ""
    checks = len({name for gap in missing for name in gap.ids})
    head = f"<h2>Not checked <small>{counted(checks, 'check')}</small></h2>\n"
    return f"<section>\n{head}{_partly([_gap(gap) for gap in missing], 'missing answer')}</section>\n"


def _gap(gap: digest.Gap) -> str:
    names = ", ".join(f"<code>{escaped(short_name(name))}</code>" for name in gap.ids)
    told = f"<p>{escaped(digest.gap_line(gap))}.</p>\n"
    which = _folded("Which", f"<p>{names}</p>\n") if len(gap.ids) > 1 else ""
    return f'<article class="{_COLOURS[gap.rank]}">\n{told}{which}</article>\n'


def _table(report: Report, outcome: Outcome, kind: str, words: tuple[str, str]) -> str:
    """What it holds for. The heading counts each check as the last line does; those of a worse `kind` on another device it counts apart."""
    made, (title, meaning) = rows(report, outcome), words
    if not made:
        return ""
    found, checks = kinds(report), {row.id for row in made}
    whole = sum(found.get(name) == kind for name in checks)
    partly = f", and {len(checks) - whole} on some devices" if whole < len(checks) else ""
    body = "".join(
        f"<tr><td><code>{escaped(row.id)}</code></td><td>{escaped(row.text)}</td>"
        f'<td class="number" data-of="devices">{f"{row.number}/{row.of}" if row.of > 1 else ""}</td></tr>\n'
        for row in made
    )
    title = f"{title} <small>{counted(whole, 'check')}{partly}</small>"
    return f"<details>\n<summary>{title}</summary>\n{_tabled(('Check', meaning, 'Devices'), body, 'checks')}</details>\n"


def _footer(report: Report) -> str:
    made = f"{report.tool.name} {report.tool.version}, profile {report.profile.name} ({report.profile.hash})"
    return f"{escaped(summary(report))}. {escaped(short(made))}"
