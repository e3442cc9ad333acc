"""The generated pages are those that `make docs` would write now."""

import os
import re

import pytest

from hostagent.catalogue import OURS, load
from tests import hostlist
from tests.docs import FOLDER, ROOT, pages

PAGES = pages()


@pytest.mark.parametrize("path", sorted(PAGES))
def test_a_generated_page_has_not_drifted(path):
    assert os.path.exists(os.path.join(ROOT, path)), "run 'make docs' and commit the result"
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        assert stream.read() == PAGES[path], "run 'make docs' and commit the result"


def test_the_page_of_recorded_hosts_has_not_drifted():
    assert hostlist.PAGE.read_text(encoding="utf-8") == hostlist.page(), "run 'make docs' and commit the result"


def test_the_page_of_recorded_hosts_lists_each():
    found = {path.parent.name for path in hostlist.HOSTS.glob("*/tape.json")}
    assert {name for name in found if f"| `{name}` |" not in hostlist.page()} == set()


def test_no_page_outlives_its_check():
    found = {f"{FOLDER}/{name}" for name in os.listdir(os.path.join(ROOT, FOLDER))}
    assert found <= set(PAGES), "run 'make docs' and commit the result"


def test_every_check_and_case_that_the_design_names_exists():
    root = ROOT
    with open(os.path.join(root, "DESIGN.md"), encoding="utf-8") as stream:
        table = stream.read().partition("## Requirements and checks")[2]
    known = {one.id for one in load([OURS])}
    families = {name.partition(".")[0] for name in known}
    named = set(re.findall(r"`([a-z]+\.[a-z0-9_]+)`", table))
    assert {name for name in named if name.partition(".")[0] in families} <= known
    assert known - named == set(), "name it in DESIGN.md, 'Requirements and checks': in a row, or among the checks with no row of their own"
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and "/" in cells[3] and not cells[3].startswith("cases"):
            folders = {name.replace(".", "/") for name in re.findall(r"`([a-z]+\.[a-z0-9_]+)`", cells[2])}
            for case in cells[3].split(", "):
                check, _, name = case.partition("/")
                assert any(
                    os.path.exists(os.path.join(root, "tests/cases", f, f"{name}.yaml")) for f in folders if f.endswith(f"/{check}")
                ), case
