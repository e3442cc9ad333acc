"""Renders docs/words.md from docs/words.yaml and the closed lists of the code."""

from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml

from hostagent.core import vocabulary
from hostagent.core.unread import Why

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "docs/words.yaml"
PAGE = "docs/words.md"
_INTRODUCTION = """\
# Words

Made by `make docs` from [words.yaml](words.yaml) and `hostagent/core/vocabulary.py`; edit those, not this page. Each word has one meaning, and each thing
has one word, in reports, profiles, pages and messages. The lists are closed and are only ever extended: programs may rely on them.
"""
_HALF = {"Wrong"}  # those outcomes that a check itself can say


def closed_lists() -> dict[str, tuple[str, ...]]:
    """Every list of words that programs may rely on, by its name in the code; "" is no word."""
    lists = {name: value for name, value in vars(vocabulary).items() if get_origin(value) is Literal and name not in _HALF}
    return {name: tuple(filter(None, get_args(value))) for name, value in {**lists, "Why": Why}.items()}


def meanings() -> dict[str, Any]:
    """``lists``: name to ``what`` and ``words``; ``terms``: word to meaning; ``not``: what we do not say, and what instead."""
    loaded: dict[str, Any] = yaml.safe_load(SOURCE.read_text(encoding="utf-8"))
    return loaded


def page() -> str:
    """docs/words.md as it should be today."""
    data, lists = meanings(), closed_lists()
    parts = [_INTRODUCTION, _table("Terms", "word", data["terms"], "{}")]
    for name, one in data["lists"].items():
        parts.append(_table(one["what"], "word", {word: one["words"].get(word, "") for word in lists[name]}, "`{}`"))
    return "\n".join([*parts, _table("What we do not say", "not this", data["not"], "{}")])


def _table(title: str, column: str, rows: dict[str, str], form: str) -> str:
    lines = [f"| {form.format(word)} | {meaning} |" for word, meaning in rows.items()]
    return "\n".join([f"## {title}\n", f"| {column} | meaning |", "|---|---|", *lines, ""])
