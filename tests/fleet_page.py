"""``docs/gate.md`` and its picture: made of the example fleet and of what real commands printed, by ``python -m tests.docs``."""

import re
from functools import cache
from pathlib import Path
from xml.sax.saxutils import escape

import click

from hostagent.cli.gate import command as gate
from hostagent.core.text import counted
from hostagent.gate.answer import Code
from hostagent.gate.described import CODES
from hostagent.gate.fleet import Fleet, State, fleet
from hostagent.gate.fleet_html import SIGNS
from hostagent.gate.fleet_words import WORDS, differences, headline
from hostagent.gate.text import ADVICE, IN_CLUSTER
from tests.fleet_hosts import VALID_UNTIL, summaries
from tests.readme import output

PAGE, PICTURE = "docs/gate.md", "docs/fleet.svg"
_TEXT = Path(__file__).with_name("gate_page.md")
_GATE = "hostagent gate --reports tests/fleet --nodes {} --gpus-per-node 8{}"
#: Of the picture: tiles in a row, their side and gap, and where they begin.
_ROW, _SIDE, _GAP, _LEFT, _WIDTH = 16, 28, 6, 16, 720


@cache
def page() -> str:
    """The page as it should be today."""
    text = _TEXT.read_text(encoding="utf-8")
    parts = {
        "ACCEPTED": _shown(_GATE.format(4, "")),
        "REFUSED": _shown(_GATE.format(9, "")),
        "SELECTOR": _shown(_GATE.format(4, " --emit selector")),
        "ENV": _shown(_GATE.format(4, " --emit env")),
        "FLEET": _shown("hostagent fleet tests/fleet"),
        "CODES": codes(),
        "OPTIONS": _options(),
        "HEADLINE": headline(_fleet().counts),
        "PICTURE": PICTURE.removeprefix("docs/"),
    }
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part)
    return text


def _shown(command: str) -> str:
    lines = "\n".join(line.rstrip() for line in output(command).splitlines())
    return f"$ {command.replace('tests/fleet', 'reports/')}\n{lines}".replace("tests/fleet", "reports")


def codes() -> str:
    return "\n".join(f"| `{code}` | {CODES[code]} | {_advice(code)} |" for code in ADVICE)


def _advice(code: Code) -> str:
    """What to do with files, and what in a cluster where that is something else."""
    clusters = [f"{backend.title()}: {_step(*found[code])}" for backend, found in IN_CLUSTER.items() if code in found]
    return "<br>".join([_step(*ADVICE[code]), *clusters])


def _step(text: str, command: str) -> str:
    """Advice with its commands and options as code."""
    marked = re.sub(r"'(hostagent [^']+)'|(--[a-z-]+)", lambda found: f"`{found[1] or found[2]}`", text)
    return f"{marked} `{command}`" if command else marked


def _options() -> str:
    rows = []
    for one in gate.params:
        if isinstance(one, click.Option) and "--help" not in one.opts:
            metavar = "" if one.is_flag else f" {one.metavar or '|'.join(getattr(one.type, 'choices', ()))}"
            text = (one.help or "").replace("|", "\\|")
            rows.append(f"| `{one.opts[0]}{metavar}` | {text} |".replace(metavar, metavar.replace("|", "\\|"), 1))
    return "\n".join(rows)


@cache
def _fleet() -> Fleet:
    return fleet(summaries().values(), VALID_UNTIL - 1)


def picture() -> str:
    """The tiles of the example fleet by class, as the page of HTML has them."""
    found = _fleet()
    sides = {one.node: one for one in found.nodes}
    body, top = [f'<text class="f-head" x="{_LEFT}" y="32">{escape(headline(found.counts))}</text>'], 52
    body += [_sample(state, number, getattr(found.counts, state)) for number, state in enumerate(WORDS)]
    top += 56
    for one in (*found.classes, *found.without_class):
        title = getattr(one, "gpus", "No class")
        lines = differences(one, len(found.classes[0].nodes)) if one in found.classes else [one.why]
        quiet = f"{lines[0]}{' …' if len(lines) > 1 else ''}" if lines else ""
        body.append(f'<text x="{_LEFT}" y="{top}"><tspan class="f-name">{escape(title)}</tspan>')
        body.append(
            f'<tspan class="f-quiet" dx="10">{counted(len(one.nodes), "node")}{escape(f": {quiet}" if quiet else "")}</tspan></text>'
        )
        for number, name in enumerate(one.nodes):
            left, down = _LEFT + number % _ROW * (_SIDE + _GAP), top + 10 + number // _ROW * (_SIDE + _GAP)
            node = sides[name]
            is_limited = node.state in ("ready", "degraded") and not node.takes_multi_node
            body.append(_tile(node.state, left, down, is_limited=is_limited, title=f"{name}: {WORDS[node.state]}"))
        top += 10 + (1 + (len(one.nodes) - 1) // _ROW) * (_SIDE + _GAP) + 26
    height = top - 16
    return "\n".join(
        (
            '<?xml version="1.0" encoding="UTF-8"?>',
            f'<svg class="f-map" xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}">',
            f"<title>{escape(headline(found.counts))}</title>",
            _STYLE,
            '<rect class="f-page" width="100%" height="100%"/>',
            *body,
            "</svg>\n",
        )
    )


def _sample(state: State, number: int, count: int) -> str:
    left = _LEFT + number * 136
    return f'{_tile(state, left, 46)}<text x="{left + 36}" y="65">{count} {WORDS[state]}</text>'


def _tile(state: State, left: int, top: int, *, is_limited: bool = False, title: str = "") -> str:
    name = f"<title>{escape(title)}</title>" if title else ""
    inner = f'<rect class="f-one" x="{left + 2}" y="{top + 2}" width="{_SIDE - 4}" height="{_SIDE - 4}" rx="3"/>' if is_limited else ""
    sign = f'<text class="f-sign" x="{left + _SIDE // 2}" y="{top + 19}">{SIGNS[state]}</text>'
    return f'<g>{name}<rect class="f-{state}" x="{left}" y="{top}" width="{_SIDE}" height="{_SIDE}" rx="4"/>{inner}{sign}</g>'


_STYLE = re.sub(
    r"\n +",
    "\n",
    """<style>
    .f-map { font: 13px system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; }
    .f-map text { fill: #1c2127; } .f-map .f-quiet { fill: #59606a; font-size: 12px; } .f-map .f-name { font-weight: 600; }
    .f-map .f-head { font-size: 18px; } .f-map .f-sign { fill: #fff; font-weight: 700; text-anchor: middle; } .f-map .f-page { fill: #fff; }
    .f-map .f-ready { fill: #1b6e2f; } .f-map .f-degraded { fill: #875700; } .f-map .f-not_ready { fill: #b3142b; }
    .f-map .f-unknown { fill: #6a3fa0; } .f-map .f-stale { fill: #59606a; }
    .f-map .f-one { fill: none; stroke: #fff; stroke-width: 2; stroke-dasharray: 4 3; }
    @media (prefers-color-scheme: dark) {
    .f-map text { fill: #e4e8ec; } .f-map .f-quiet { fill: #a7b0bb; } .f-map .f-sign { fill: #14171b; } .f-map .f-page { fill: #14171b; }
    .f-map .f-ready { fill: #7fd99a; } .f-map .f-degraded { fill: #ffc35c; } .f-map .f-not_ready { fill: #ff8a80; }
    .f-map .f-unknown { fill: #cdb0ff; } .f-map .f-stale { fill: #a7b0bb; } .f-map .f-one { stroke: #14171b; } }
    </style>""",
)
