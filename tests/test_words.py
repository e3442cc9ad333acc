"""docs/words.md explains every word of the closed lists, once, and what users read keeps to it."""

import re
from pathlib import Path

import pytest

from hostagent.engine.catalogue import OURS, load
from tests.over import over
from tests.words import ROOT, closed_lists, meanings

DATA = meanings()
#: What users read, but for the page that names the words we avoid.
READ = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "checks/docs").glob("*.md")),
]


@pytest.mark.parametrize("name", sorted(set(closed_lists()) | set(DATA["lists"])))
def test_every_word_of_a_closed_list_has_a_meaning_of_its_own(name):
    words = DATA["lists"][name]["words"]
    assert list(words) == list(closed_lists()[name])
    assert all(len(meaning) > 5 for meaning in words.values())
    assert len(set(words.values())) == len(words)


def test_no_two_terms_mean_the_same():
    assert len(set(DATA["terms"].values())) == len(DATA["terms"])
    assert list(DATA["terms"]) == sorted(DATA["terms"])


def test_a_word_that_we_do_not_use_is_no_term_and_no_word_of_a_list():
    used = {*DATA["terms"], *(word for words in closed_lists().values() for word in words)} - {"tape"}
    assert used & set(DATA["not"]) == set()


@over("page", READ, ids=lambda page: page.name)
def test_pages_use_the_words_of_the_vocabulary(page: Path):
    if page.name == "words.md":
        return
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert {word for word in DATA["not"] if re.search(rf"\b{word}(?:s|ed|ing)?\b", prose, re.IGNORECASE)} == set()


def test_what_a_report_prints_uses_the_words_of_the_vocabulary():
    for one in load([OURS]):
        said = " ".join((one.title, one.headline, *(step.text for step in one.remedy)))
        assert {word for word in DATA["not"] if re.search(rf"\b{word}(?:s|ed|ing)?\b", said, re.IGNORECASE)} == set(), one.id
