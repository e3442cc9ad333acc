"""A fleet as one self-contained page of HTML: a tile per node, by class and domain, with a link to its cause."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence

from hostagent.core.text import counted
from hostagent.gate.fleet import Cause, Class, Domain, Fleet, Node, State, WithoutClass
from hostagent.gate.fleet_words import NAMES, WORDS, differences, headline, headline_of, in_words, reason_of, short, states_of
from hostagent.gate.wording import names_of
from hostagent.outputs.markup import escaped
from hostagent.outputs.stylesheet import STYLE

#: The second lock, behind the escaping of every text: a browser runs and fetches nothing here.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
#: The sign of a tile, next to its colour.
SIGNS: Mapping[State, str] = {"ready": "✓", "degraded": "!", "not_ready": "✕", "unknown": "?", "stale": "~"}
_COLOURS = {"critical": "bad", "warning": "warn", "info": "note"}
_ONE_NODE = "not for jobs on several nodes"
#: Files that are shown.
_FILES = 50
#: In addition to the style of all pages: small tiles in a grid, each with a sign as well as a colour.
_STYLE = """
body { max-width: 84rem; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, 1.5rem); gap: .2rem; margin: .4rem 0 .8rem; padding: 0; list-style: none; }
.tile { display: block; width: 1.5rem; height: 1.5rem; border-radius: .25rem; text-align: center; flex: none;
  font: 700 .8rem/1.5rem system-ui, sans-serif; text-decoration: none; overflow: hidden; }
.tile.ready { background: var(--good); } .tile.degraded { background: var(--warn); } .tile.not_ready { background: var(--bad); }
.tile.unknown { background: var(--unknown); } .tile.stale { background: var(--note); }
.tile, a.tile { color: var(--page); } .tile.one { outline: .1rem dashed var(--page); outline-offset: -.2rem; }
a.tile:hover, a.tile:focus { outline: .15rem solid var(--text); outline-offset: 0; text-decoration: none; }
.legend { display: flex; flex-wrap: wrap; gap: .4rem 1.5rem; padding: 0; margin: 1rem 0; list-style: none; }
.legend li { display: flex; align-items: center; gap: .5rem; }
h3 small, h4 small { font-size: .875rem; font-weight: 400; color: var(--quiet); } h3 { margin-top: 1rem; } article h3 { margin-top: 0; }
h4 { font-size: .9375rem; font-weight: 400; color: var(--quiet); margin: .4rem 0 0; }
.differences { padding-left: 1.25rem; font-size: .9375rem; }
section > details { margin: 0 0 .8rem; font-size: .9375rem; } section > details > summary { color: var(--quiet); }
@media print { .tile { print-color-adjust: exact; -webkit-print-color-adjust: exact; break-inside: avoid; } .tiles { gap: .15rem; } }
"""


def render_html(found: Fleet) -> str:
    """No script, nothing fetched; every text of a summary escaped. Links lead to places of the page alone."""
    tiles = _Tiles(found)
    classes = "".join(_class(one, number, tiles) for number, one in enumerate(found.classes, 1))
    without = "".join(_without(one, number, tiles) for number, one in enumerate(found.without_class, 1))
    causes = "".join(_cause(one, anchor) for one, anchor in zip(found.causes, tiles.anchors, strict=True))
    title = escaped(headline(found.counts))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}{_STYLE}</style>\n</head>\n<body>\n"
        f'<header>\n<h1>{title}</h1>\n<p class="quiet">As of {_utc(found.made_at)}</p>\n{_legend(found)}</header>\n<main>\n'
        f"{_section('Nodes', classes + without)}{_section('Causes', causes)}{_files(found.warnings)}</main>\n</body>\n</html>\n"
    )


class _Tiles:
    """Tiles of nodes, each with the place of the page that it leads to."""

    def __init__(self, found: Fleet) -> None:
        self.anchors = _anchors(found.causes)
        self.states = states_of(found)
        self.largest = len(found.classes[0].nodes) if found.classes else 0
        self._nodes = {one.node: one for one in found.nodes}

    def of(self, names: Sequence[str], group: str) -> str:
        """`group`: the place that a node without a cause leads to."""
        return f'<ul class="tiles">\n{"".join(self._tile(self._nodes[name], group) for name in names)}</ul>\n'

    def _tile(self, one: Node, group: str) -> str:
        is_limited = one.state in ("ready", "degraded") and not one.takes_multi_node
        text = f"{one.node}: {WORDS[one.state]}{f', {_ONE_NODE}' if is_limited else ''}"
        title = f"{text}. {one.headline}" if one.headline else text
        place = group if one.cause is None else self.anchors[one.cause]
        kind = f"{one.state} one" if is_limited else one.state
        return (
            f'<li><a class="tile {kind}" href="#{place}" title="{escaped(title)}" aria-label="{escaped(text)}">'
            f"{SIGNS[one.state]}</a></li>\n"
        )


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{title}</h2>\n{body}</section>\n" if body else ""


def _utc(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def _anchors(causes: Iterable[Cause]) -> "list[str]":
    """A name for the place of each cause: its check and code in letters that need no escape, each name once."""
    taken: dict[str, int] = {}
    for one in causes:
        text = reason_of(one) or one.code
        name = base = "cause-" + "".join(char if char.isascii() and (char.isalnum() or char in "._-") else "-" for char in text)
        number = 1
        while name in taken:
            number += 1
            name = f"{base}-{number}"
        taken[name] = number
    return list(taken)


def _legend(found: Fleet) -> str:
    items = [(state, "", f"{getattr(found.counts, state)} {word}") for state, word in WORDS.items()]
    if found.counts.multi_node < found.counts.single_node:
        items.insert(2, ("ready", " one", f"of these {found.counts.single_node - found.counts.multi_node} {_ONE_NODE}"))
    rows = "".join(f'<li><span class="tile {state}{more}">{SIGNS[state]}</span>{text}</li>\n' for state, more, text in items)
    return f'<ul class="legend">\n{rows}</ul>\n'


def _class(one: Class, number: int, tiles: _Tiles) -> str:
    what = short(one.gpus) or "GPUs not known"
    lines = "".join(f"<li>{escaped(line)}</li>\n" for line in differences(one, tiles.largest))
    rows = "".join(f"{head}{tiles.of(names, f'class-{number}')}" for head, names in _domains(one.domains))
    return (
        f'<h3 id="class-{number}">{escaped(what)} <small>{_nodes(one.nodes)}: {in_words(one.nodes, tiles.states)}; '
        f"class <code>{escaped(short(one.fabric_class))}</code></small></h3>\n"
        f"{_bullets(lines)}{rows}{_names(one.nodes)}"
    )


def _domains(domains: Sequence[Domain]) -> Iterator[tuple[str, Sequence[str]]]:
    """Heading and nodes of each; those of one node share a heading."""
    named = [one for one in domains if one.domain]
    single = [name for one in named if len(one.nodes) == 1 for name in one.nodes]
    is_shared = len(single) > 1
    for one in named:
        if not is_shared or len(one.nodes) > 1:
            yield f"<h4>Domain <code>{escaped(short(one.domain))}</code></h4>\n", one.nodes
    if is_shared:
        yield f"<h4>{len(single)} domains of one node each</h4>\n", single
    for one in domains:
        if not one.domain:
            yield "<h4>No domain</h4>\n" if named else "", one.nodes


def _nodes(names: Sequence[str]) -> str:
    return counted(len(names), "node")


def _names(names: Sequence[str]) -> str:
    """Folded at a screen, open on paper."""
    return _folded(counted(len(names), "name"), names)


def _folded(summary: str, names: Sequence[str]) -> str:
    return f"<details>\n<summary>{summary}</summary>\n<p>{escaped(', '.join(names))}</p>\n</details>\n"


def _bullets(items: str) -> str:
    return f'<ul class="differences">\n{items}</ul>\n' if items else ""


def _without(one: WithoutClass, number: int, tiles: _Tiles) -> str:
    head = f'<h3 id="without-{number}">No class <small>{_nodes(one.nodes)}</small></h3>\n'
    return f"{head}{_bullets(f'<li>{escaped(short(one.why, 400))}</li>')}{tiles.of(one.nodes, f'without-{number}')}{_names(one.nodes)}"


def _cause(one: Cause, anchor: str) -> str:
    named = f"<code>{escaped(short(reason_of(one)))}</code>: " if reason_of(one) else ""
    rest = one.nodes[NAMES:]
    more = _folded(f"{_nodes(rest)} more", rest) if rest else ""
    return (
        f'<article class="{_COLOURS.get(one.severity, "note")}" id="{anchor}">\n'
        f"<h3>{escaped(headline_of(one))} <small>{_nodes(one.nodes)}</small></h3>\n"
        f"<p>{named}{escaped(names_of(one.nodes[:NAMES]))}</p>\n{more}</article>\n"
    )


def _files(warnings: Sequence[str]) -> str:
    rest = [f"and {len(warnings) - _FILES} more"] if len(warnings) > _FILES else []
    rows = "".join(f"<li>{escaped(short(one, 400))}</li>\n" for one in (*warnings[:_FILES], *rest))
    return _section("Files that do not count", _bullets(rows))
