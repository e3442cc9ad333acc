"""The generated pages are those that `make docs` would write now."""

import os
import re
import subprocess
import sys

from hostagent.engine.catalogue import OURS, load
from tests import hostlist, requirements
from tests.docs import FOLDER, ROOT, pages
from tests.over import over

PAGES = pages()


@over("path", sorted(PAGES))
def test_a_generated_page_has_not_drifted(path):
    assert os.path.exists(os.path.join(ROOT, path)), "run 'make docs' and commit the result"
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        assert stream.read() == PAGES[path](), "run 'make docs' and commit the result"


def test_the_page_of_recorded_hosts_has_not_drifted():
    assert hostlist.PAGE.read_text(encoding="utf-8") == hostlist.page(), "run 'make docs' and commit the result"


def test_the_page_of_recorded_hosts_lists_each():
    found, page = {path.parent.name for path in hostlist.HOSTS.glob("*/tape.json")}, hostlist.PAGE.read_text(encoding="utf-8")
    assert {name for name in found if f"| `{name}` |" not in page} == set()


def test_no_page_outlives_its_check():
    found = {f"{FOLDER}/{name}" for name in os.listdir(os.path.join(ROOT, FOLDER))}
    assert found <= set(PAGES), "run 'make docs' and commit the result"


ROWS = [row for section in requirements.TITLES for row in requirements.requirements()[section]]


@over("row", ROWS, ids=lambda row: row["id"])
def test_each_check_and_case_of_a_requirement_exists_and_what_no_check_sees_is_said(row):
    assert set(row) <= {"id", "what", "checks", "hole", "note"}
    assert set(row.get("checks", {})) <= {one.id for one in load([OURS])}
    for check, cases in row.get("checks", {}).items():
        for name in cases:
            assert os.path.exists(os.path.join(ROOT, "tests/cases", check.replace(".", "/"), f"{name}.yaml")), f"{check}/{name}"
    assert "checks" in row or "hole" in row or row["note"].startswith("no check")


@over("row", requirements.requirements()["installer"], ids=lambda row: row["id"])
def test_each_rule_of_the_installer_is_held_by_tests_that_are_there(row):
    assert set(row) <= {"id", "what", "tests", "note"}
    assert row["tests"]
    for name in row["tests"]:
        path, _, function = name.partition("::")
        with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
            assert f"\ndef {function}(" in stream.read(), name


def test_each_hole_is_one_of_a_requirement():
    assert {row["hole"] for row in ROWS if "hole" in row} == set(requirements.requirements()["holes"])


def test_the_page_of_requirements_names_every_check():
    text = requirements.page()
    assert [one.id for one in load([OURS]) if f"[{one.id}](" not in text] == []


def test_no_page_of_a_check_links_to_a_check_that_is_not_there():
    for path in PAGES:
        with open(os.path.join(ROOT, path), encoding="utf-8") as stream:  # which has not drifted
            text = stream.read()
        for target in re.findall(r"\]\(([a-z_]+\.[a-z0-9_]+\.md)\)", text):
            assert os.path.exists(os.path.join(ROOT, FOLDER, target)), f"{path}: {target}"


def test_the_names_of_pages_run_no_command():
    """Each worker of the tests imports them."""
    program = "import sys; sys.addaudithook(lambda name, _: sys.exit(name) if name == 'subprocess.Popen' else None); import tests.test_docs"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stderr) == (0, "")
