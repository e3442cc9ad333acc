"""The files of changes/ have the form that a release collects, and it loses none of them."""

import re

import pytest

from release.changes import CHANGELOG, FOLDER, TYPES, collected, fragments

_BEFORE = """# Changelog

Words.

## 0.2.0 - unreleased

### Added

- A.
  More of A.

### Fixed

- F.

## 0.1.0 - 2026-12-01

### Added

- First.
"""


def test_each_change_that_waits_has_the_form():
    assert set(fragments(FOLDER)) <= set(TYPES)


def test_the_changelog_has_the_headings_that_people_expect():
    text = CHANGELOG.read_text(encoding="utf-8")
    assert set(re.findall(r"^### (\w+)$", text, re.MULTILINE)) <= {kind.title() for kind in TYPES}
    assert all(re.fullmatch(r"\d+\.\d+\.\d+ - (unreleased|\d{4}-\d\d-\d\d)", head) for head in re.findall(r"^## (.*)$", text, re.MULTILINE))


@pytest.mark.parametrize("name", ["a.md", "a.new.md", "A.fixed.md", "a b.fixed.md", "a.fixed.txt"])
def test_another_name_is_refused(name, tmp_path):
    (tmp_path / name).write_text("It works.\n")
    with pytest.raises(SystemExit, match=f"found changes/{re.escape(name)}, wanted a name such as cache.fixed.md"):
        fragments(tmp_path)


@pytest.mark.parametrize("text", ["", "no full stop\n", "- A list.\n", "One.\n\nTwo.\n", "No end of line."])
def test_another_text_is_refused(text, tmp_path):
    (tmp_path / "a.fixed.md").write_text(text)
    with pytest.raises(SystemExit, match="is not one paragraph that ends with a full stop"):
        fragments(tmp_path)


def test_a_release_collects_them_below_what_is_there(tmp_path):
    for name, text in {"b.added.md": "B,\nand on.\n", "a.security.md": "S.\n", "README.md": "Not a change"}.items():
        (tmp_path / name).write_text(text)
    made = collected(_BEFORE, fragments(tmp_path), "0.2.0", "2027-03-01")
    wanted = _BEFORE.replace("0.2.0 - unreleased", "0.2.0 - 2027-03-01").replace("  More of A.\n", "  More of A.\n- B,\n  and on.\n")
    assert made == wanted.replace("- F.\n", "- F.\n\n### Security\n\n- S.\n")


def test_a_version_without_a_section_gets_one_on_top():
    made = collected(_BEFORE, {"fixed": ["X."]}, "0.3.0", "2027-04-01")
    assert made == _BEFORE.replace("\n## 0.2.0", "\n## 0.3.0 - 2027-04-01\n\n### Fixed\n\n- X.\n\n## 0.2.0")
