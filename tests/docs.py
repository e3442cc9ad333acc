"""Writes the pages that are made from the checks into a checkout: ``python -m tests.docs``. A test holds them against drift."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from functools import partial

from hostagent.engine.catalogue import OURS, load
from hostagent.engine.catalogue_pages import render_index, render_page
from hostagent.engine.check import Check
from tests import (
    daemon_page,
    fabric_page,
    fleet_page,
    install_page,
    kernel_words_page,
    nccl_page,
    requirements,
    tao_page,
    topology_page,
    words,
    xids_page,
)

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = "checks/docs"
INDEX = "checks/README.md"
CONTRIBUTING = "CONTRIBUTING.md"
_FILE = re.compile(r"(<!-- file: (\S+) -->\n```\w+\n).*?```", re.DOTALL)
_TAG = re.compile(r"<(?!/?(?:details|summary)>)")
_INTRODUCTION = """\
# The catalogue

Made by `make docs` from the checks themselves; edit those, not this page. Each check is one module below
`hostagent_checks/<family>/`; its place is its id. How to add one: [CONTRIBUTING.md](../CONTRIBUTING.md).

{count} checks. A check passes when its condition holds; a value that cannot be read never makes it pass.
"""


def pages() -> dict[str, Callable[[], str]]:
    """Path below the checkout of every generated file, and what makes it: some run commands, which nobody waits for who only wants the names."""
    checks = load([OURS])
    return {
        INDEX: partial(_index, checks),
        requirements.PAGE: requirements.page,
        words.PAGE: words.page,
        daemon_page.PAGE: daemon_page.page,
        fabric_page.PAGE: fabric_page.page,
        fleet_page.PAGE: fleet_page.page,
        fleet_page.PICTURE: fleet_page.picture,
        install_page.PAGE: install_page.page,
        kernel_words_page.PAGE: kernel_words_page.page,
        nccl_page.PAGE: nccl_page.page,
        tao_page.PAGE: tao_page.page,
        topology_page.PAGE: topology_page.page,
        topology_page.PICTURE: topology_page.picture,
        xids_page.PAGE: xids_page.page,
        CONTRIBUTING: _with_files,
        **{f"{FOLDER}/{one.id}.md": partial(_page_of, one) for one in checks},
    }


def _index(checks: Sequence[Check]) -> str:
    return _INTRODUCTION.format(count=len(checks)) + "\n" + render_index(checks, "docs")


def _page_of(check: Check) -> str:
    return _shown(render_page(check, folds=True))


def _with_files() -> str:
    """CONTRIBUTING with the files that it shows as they are."""
    return _FILE.sub(lambda found: f"{found[1]}{_read(found[2])}```", _read(CONTRIBUTING))


def _read(path: str) -> str:
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        return stream.read()


def _shown(page: str) -> str:
    """A viewer of Markdown takes ``<branch>`` for a tag and hides it; a terminal does not, so the page itself keeps it."""
    parts = page.split("`")
    return "`".join(part if number % 2 else _TAG.sub("&lt;", part) for number, part in enumerate(parts))


def main() -> None:
    folder = os.path.join(ROOT, FOLDER)
    if not os.path.isdir(os.path.join(ROOT, "checks", OURS)):
        sys.exit(f"Error: found no checkout at {ROOT}, wanted one. Run 'make docs' in a clone.")
    wanted = {path: made() for path, made in pages().items()}
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(folder):
        if f"{FOLDER}/{name}" not in wanted:
            os.remove(os.path.join(folder, name))
    for path, content in wanted.items():
        with open(os.path.join(ROOT, path), "w", encoding="utf-8") as stream:
            stream.write(content)
    sys.stdout.write(f"{len(wanted)} pages below {ROOT}\n")


if __name__ == "__main__":
    main()
