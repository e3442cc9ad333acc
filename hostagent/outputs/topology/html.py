"""The map as one page of HTML that needs nothing else: the picture, the distances as tables, and an answer for each pod."""

from collections.abc import Iterable, Sequence

from hostagent.outputs import digest
from hostagent.outputs.html import POLICY, command, prose
from hostagent.outputs.markup import escaped
from hostagent.outputs.stylesheet import STYLE
from hostagent.outputs.topology import parts, ports
from hostagent.outputs.topology.document import Document, MapFinding, Placeable
from hostagent.outputs.topology.parts import Device
from hostagent.outputs.topology.remedy import lines_below
from hostagent.outputs.topology.svg import picture

_COLOURS = {"ADMITTED": "good", "REJECTED": "bad", "NOT KNOWN": "unknown"}
_RANKS = {"critical": "bad", "warning": "warn", "info": "note"}
_STYLE = """
body { max-width: 77rem; } .wide { overflow-x: auto; } .wide svg { min-width: 40rem; max-width: 100%; height: auto; }
.matrix { width: auto; }
.matrix td, .matrix th, .matrix td:first-child { width: auto; white-space: nowrap; padding: .2rem .7rem .2rem 0; display: table-cell; }
@media (max-width: 40rem) { .matrix tr { display: table-row; } .matrix thead { display: table-header-group; } }
"""


def render_html(document: Document) -> str:
    """No script, nothing fetched; every text of the host escaped."""
    head = f"{digest.short_name(document.host.hostname)}: {parts.size_line(document) or 'nothing of it was read'}"
    made = f"{document.tool.name} {document.tool.version}, profile {digest.short_name(document.profile.name)}"
    about = "; ".join(line for line in (digest.read_line(document), parts.capacity_line(document)) if line)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escaped(head)}</title>\n<style>{STYLE}{_STYLE}</style>\n</head>\n<body>\n"
        f'<header>\n<h1>{escaped(head)}</h1>\n<p class="quiet">{escaped(about)}</p>\n</header>\n<main>\n{_answers(document.placeable)}'
        f'<section>\n<div class="wide">\n{picture(document)}</div>\n</section>\n'
        f"{_gaps(document)}{_findings(document)}{_ports(document)}{_distances(document)}{_nodes(document)}</main>\n"
        f'<footer class="quiet">{escaped(made)}</footer>\n'
        "</body>\n</html>\n"
    )


def _answers(placeable: Iterable[Placeable]) -> str:
    made = "".join(map(_answer, placeable))
    return f"<section>\n<h2>Pods</h2>\n{made}</section>\n" if made else ""


def _answer(one: Placeable) -> str:
    word, text = parts.answer(one)
    steps = ""
    for step in one.fix.steps:
        fields = lines_below(step, one.fix.configuration)
        lines = _lines(fields) if fields else ""
        steps += f"<li>{prose(digest.short(step.text))}{lines}{command(step.command) if step.command else ''}</li>\n"
    fix = f'<div class="box">\n<ol>\n{steps}</ol>\n</div>\n' if steps else ""
    if one.admitted is False and not steps:
        fix = f"<p>{escaped(parts.without_fix(one))}</p>\n"
    badge = f'<strong class="badge {_COLOURS[word]}"><span>{word}</span></strong>'
    head = f"<h3>{badge} {escaped(parts.pod_name(one))}</h3>"
    return f'<article class="{_COLOURS[word]}">\n{head}\n<p>{escaped(text)}</p>\n{fix}</article>\n'


def _lines(lines: Iterable[str]) -> str:
    """A file to be copied."""
    return f'<pre class="run">{"&#10;".join(map(escaped, lines))}</pre>'


def _findings(document: Document) -> str:
    ordered = sorted(document.findings, key=lambda one: [*_RANKS].index(one.severity))
    made = "".join(map(_finding, ordered))
    return f"<section>\n<h2>Findings <small>{len(ordered)}</small></h2>\n{made}</section>\n" if made else ""


def _gaps(document: Document) -> str:
    body = "".join(f'<article class="unknown"><p>{escaped(text)}.</p></article>\n' for text in parts.gaps(document))
    return f"<section>\n<h2>Not known</h2>\n{body}</section>\n" if body else ""


def _finding(one: MapFinding) -> str:
    head = f"<h3>{escaped(parts.finding_line(one))}</h3>"
    name = f'<p class="quiet"><code>{escaped(digest.short_name(one.id))}</code></p>'
    return f'<article class="{_RANKS[one.severity]}">\n{head}\n{name}</article>\n'


def _distances(document: Document) -> str:
    gpus, nics = parts.devices(document.gpus), parts.nics(document)
    if not gpus:
        return ""
    between, away = (parts.distances(document, kind) for kind in ("gpu_gpu", "gpu_nic"))
    body, shown = "", set[str]()
    for one in gpus:
        cells = [*(parts.cell(between, one.pci, other.pci) for other in gpus), *(parts.cell(away, one.pci, nic.pci) for nic in nics)]
        shown.update(cells)
        body += _row((one.name, *cells, one.cpus, one.node))
    heads = ("", *(one.name for one in (*gpus, *nics)), "CPUs", "NUMA")
    means = "".join(f"<dt>{escaped(word)}</dt><dd>{escaped(text)}</dd>\n" for word, text in parts.legend(shown))
    return f'<section>\n<h2>Distances</h2>\n{_table(heads, body)}<dl class="host">\n{means}</dl>\n{_devices((*gpus, *nics))}</section>\n'


def _devices(found: Sequence[Device]) -> str:
    body = "".join(_row((one.name, one.pci, one.node, one.link, one.known_as)) for one in found)
    return f"<details>\n<summary>Devices</summary>\n{_table(('', 'Address', 'NUMA', 'Link', 'Known as'), body)}</details>\n"


def _ports(document: Document) -> str:
    """The answer on the MTU, and the ports that it follows from."""
    body = "".join(
        _row((one.name, one.netdev, one.role, one.state, one.rate, one.link_layer, one.mtu, ports.active(one), one.gid, one.firmware))
        for one in ports.ports(document)
    )
    heads = ("Port", "Interface", "Role", "State", "Rate", "Link layer", "MTU", "Active MTU", "GID", "Firmware")
    answer = f"<p>{escaped(ports.mtu_answer(document)[0])}</p>\n"
    return f"<section>\n<h2>Ports</h2>\n{answer}{_table(heads, body) if body else ''}</section>\n"


def _nodes(document: Document) -> str:
    rows = parts.rows(document.numa_nodes)
    ids = [parts.text_of(one.get("id")) for one in rows]
    body = ""
    for one, name in zip(rows, ids, strict=True):
        far = [*map(parts.text_of, one["distances"])] if isinstance(one.get("distances"), list) else []
        far = [far[at] if at < len(far) else parts.UNREAD for at in range(len(ids))]
        body += _row((name, parts.text_of(one.get("cpus"), 60) or "none", parts.amount(one.get("memory_bytes")), *far))
    if not rows:
        return ""
    return f"<section>\n<h2>NUMA nodes</h2>\n{_table(('Node', 'CPUs', 'Memory', *(f'to {name}' for name in ids)), body)}</section>\n"


def _row(cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<td>{escaped(cell)}</td>' for cell in cells)}</tr>\n"


def _table(heads: Iterable[str], body: str) -> str:
    cells = "".join(f"<th>{escaped(head)}</th>" for head in heads)
    return f'<div class="wide"><table class="matrix">\n<thead><tr>{cells}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n'
