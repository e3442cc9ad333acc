"""Renders docs/dev/requirements.md from docs/dev/requirements.yaml and the checks: which checks hold a requirement, and which cases show it."""

import functools
from pathlib import Path
from typing import Any

import yaml

from hostagent.engine.catalogue import OURS, load
from hostagent.engine.check import Check

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "docs/dev/requirements.yaml"
PAGE = "docs/dev/requirements.md"
_INTRODUCTION = """\
# Requirements and checks

Made by `make docs` from [requirements.yaml](requirements.yaml) and the checks themselves; edit those, not this page. Each row is something that a
GPU host must fulfil or a failure that users meet, with the checks that hold it and, in parentheses, the cases that show it. A *hole* is what no check sees. A rule of the installer names the tests that hold it.
"""
TITLES = {
    "read": "What a ready host fulfils",
    "topology": "Topology, placement and the fabric",
    "nccl": "NCCL: what a job finds on its hosts",
    "failures": "The failures that users meet",
}


@functools.cache
def requirements() -> dict[str, Any]:
    """Of each section the rows (``id``, ``what``, and where there are some ``checks``: id to cases, ``hole``, ``note``), and ``holes``."""
    loaded: dict[str, Any] = yaml.load(SOURCE.read_text(encoding="utf-8"), yaml.CSafeLoader)
    return loaded


def page() -> str:
    """docs/dev/requirements.md as it should be today."""
    known = {one.id: one for one in load([OURS])}
    data = requirements()
    parts = [_INTRODUCTION]
    for section, title in TITLES.items():
        rows = [f"| `{row['id']}` | {row['what']} | {_checks(row, known)} | {_note(row, data['holes'])} |" for row in data[section]]
        parts.append("\n".join([f"## {title}\n", "| requirement | what | checks (cases) | note |", "|---|---|---|---|", *rows, ""]))
    rest = [f"| {_linked(one)} | {one.title} |" for one in known.values() if one.id not in named(data)]
    rows = [f"| `{row['id']}` | {row['what']} | {_tests(row['tests'])} | {_note(row, data['holes'])} |" for row in data["installer"]]
    parts.append("\n".join(["## What the installer holds to\n", "| rule | what | tests | note |", "|---|---|---|---|", *rows, ""]))
    parts.append("\n".join(["## Checks that no row names\n", "| check | passes when |", "|---|---|", *rest, ""]))
    parts.append("\n".join(["## Holes\n", *(f"- **{name}**: {text}." for name, text in data["holes"].items()), ""]))
    return "\n".join(parts)


def named(data: dict[str, Any]) -> set[str]:
    """Ids of the checks that a row names."""
    return {check for section in TITLES for row in data[section] for check in row.get("checks", {})}


def _tests(names: list[str]) -> str:
    return "<br>".join(f"[{name.partition('::')[2]}](../../{name.partition('::')[0]})" for name in names)


def _checks(row: dict[str, Any], known: dict[str, Check]) -> str:
    return "<br>".join(_linked(known[check]) + _cases(check, cases) for check, cases in row.get("checks", {}).items()) or "none"


def _linked(one: Check) -> str:
    return f"[{one.id}](../../checks/docs/{one.id}.md) {one.severity}"


def _cases(check: str, cases: list[str]) -> str:
    links = [f"[{name}](../../tests/cases/{check.replace('.', '/')}/{name}.yaml)" for name in cases]
    return f" ({', '.join(links)})" if links else ""


def _note(row: dict[str, Any], holes: dict[str, str]) -> str:
    hole = f"hole {row['hole']}: {holes[row['hole']]}" if "hole" in row else ""
    return "; ".join(filter(None, (hole, row.get("note", ""))))
