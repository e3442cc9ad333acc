"""The map as a picture: packages, NUMA nodes, switches, GPUs and NICs as boxes. Colour is the severity of findings and nothing else."""

# Every second bridge after the root port is an upstream port, so a switch. Literal colours with prefers-color-scheme and classes
# that begin with `t-`: the same element is in a file and in a page. Links of switches and NVLinks between GPUs are not drawn.

from collections.abc import Iterator

from hostagent.core.vocabulary import SEVERITIES
from hostagent.outputs import digest
from hostagent.outputs.markup import escaped
from hostagent.outputs.topology import parts, ports
from hostagent.outputs.topology.boxes import Box, boxes
from hostagent.outputs.topology.document import Document

_MARGIN, _GAP, _PAD = 12, 8, 8
_LINE, _LEAF_LINE, _LETTER, _BOLD = 17, 14, 6.4, 0.9
#: Width in pixels for inner boxes, by kind of box.
_ROOM = {"host": 1180, "package": 572, "node": 556, "switch": 260}
_LEAF = 118
_STYLE = """
.t-map { font: 12px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
.t-map text { fill: #1c2127; } .t-map .t-quiet { fill: #59606a; font-size: 11px; } .t-map .t-name { font-weight: 600; }
.t-map rect { fill: #fff; stroke: #8a939e; } .t-map .t-page { stroke: none; }
.t-map .t-package { fill: #f4f6f8; } .t-map .t-switch { fill: #f4f6f8; stroke-dasharray: 4 3; } .t-map .t-nic { rx: 14px; }
.t-map .t-critical { stroke: #b3142b; stroke-width: 2.5; } .t-map .t-warning { stroke: #875700; stroke-width: 2.5; }
.t-map .t-info { stroke: #59606a; stroke-width: 2.5; }
.t-map .t-said-critical { fill: #b3142b; font-weight: 600; } .t-map .t-said-warning { fill: #875700; font-weight: 600; }
.t-map .t-said-info { fill: #59606a; font-weight: 600; }
@media (prefers-color-scheme: dark) {
.t-map text { fill: #e4e8ec; } .t-map .t-quiet { fill: #a7b0bb; }
.t-map rect { fill: #14171b; stroke: #6b7480; } .t-map .t-package, .t-map .t-switch { fill: #1d2228; }
.t-map .t-critical { stroke: #ff8a80; } .t-map .t-warning { stroke: #ffc35c; } .t-map .t-info { stroke: #a7b0bb; }
.t-map .t-said-critical { fill: #ff8a80; } .t-map .t-said-warning { fill: #ffc35c; } .t-map .t-said-info { fill: #a7b0bb; } }
"""


def render_svg(document: Document) -> str:
    """One picture as a file of its own."""
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{picture(document)}'


def picture(document: Document) -> str:
    """The ``svg`` element alone."""
    whole = Box("host", (), (), boxes(document))
    width, height = _size(whole)
    head = f"{digest.short_name(document.host.hostname)}: {parts.size_line(document) or 'nothing of it was read'}"
    mtu, _ = ports.mtu_answer(document)
    width = max(width, _text_width(head), _text_width(mtu)) + 2 * (_MARGIN - _PAD)
    legend = [name for name in SEVERITIES if any(one.subject and one.severity == name for one in document.findings)]
    height += 2 * (_MARGIN - _PAD) + _LINE * (3 if legend else 2)
    drawn = "".join(_drawn(whole, _MARGIN - _PAD, _MARGIN - _PAD + 2 * _LINE))
    text = f"Boxes with a thick line have findings: {', '.join(legend)}" if legend else ""
    return (
        f'<svg class="t-map" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}"'
        f' width="{width:.0f}" height="{height:.0f}">\n<title>{escaped(head)}</title>\n<style>{_STYLE}</style>\n'
        f'<rect class="t-page" width="100%" height="100%"/>\n'
        f'<text class="t-name" x="{_MARGIN}" y="{_MARGIN + 9}">{escaped(head)}</text>\n'
        f'<text class="t-quiet" x="{_MARGIN}" y="{_MARGIN + 9 + _LINE}">{escaped(mtu)}</text>\n{drawn}'
        + (f'<text class="t-quiet" x="{_MARGIN}" y="{height - _MARGIN:.0f}">{text}</text>\n' if text else "")
        + "</svg>\n"
    )


def _text_width(text: str) -> float:
    return len(text) * _LETTER + 2 * _PAD


def _size(box: Box) -> tuple[float, float]:
    """Width and height, with all that it holds."""
    texts = max((_text_width(line) + (len(line) * _BOLD if number == 0 else 0) for number, line in enumerate(box.lines)), default=0.0)
    if not box.inner:
        return max(texts, _LEAF), len(box.lines) * _LEAF_LINE + 2 * _PAD - 2
    placed = [*_flow(box)]
    width = max(x + one[0] for x, _, one, _ in placed)
    height = max(y + one[1] for _, y, one, _ in placed)
    return max(width + _PAD, texts), height + _PAD


def _flow(box: Box) -> Iterator[tuple[float, float, tuple[float, float], Box]]:
    """Place, size and box of each inner box: from left to right, in as many rows as it takes."""
    x, y, row = float(_PAD), float(_PAD + len(box.lines) * _LINE), 0.0
    for one in box.inner:
        size = _size(one)
        if x > _PAD and x + size[0] > _ROOM[box.kind]:
            x, y, row = float(_PAD), y + row + _GAP, 0.0
        yield x, y, size, one
        x, row = x + size[0] + _GAP, max(row, size[1])


def _drawn(box: Box, x: float, y: float) -> Iterator[str]:
    if box.kind != "host":
        width, height = _size(box)
        severity = f" t-{box.severity}" if box.severity else ""
        title = f"<title>{escaped(box.title)}</title>" if box.title else ""
        yield f'<g>{title}<rect class="t-{box.kind}{severity}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="4"/>\n'
        step = _LINE if box.inner else _LEAF_LINE
        for number, line in enumerate(box.lines):
            style = "t-name" if number == 0 else "t-quiet"
            if box.severity and line == box.severity:
                style = f"t-said-{box.severity}"
            yield f'<text class="{style}" x="{x + _PAD:.0f}" y="{y + _PAD + 9 + number * step:.0f}">{escaped(line)}</text>\n'
    for left, top, _, one in _flow(box):
        yield from _drawn(one, x + left, y + top)
    if box.kind != "host":
        yield "</g>\n"
