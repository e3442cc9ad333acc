"""What people see of the recorded hosts is reviewed in the difference, like code."""

import difflib

import pytest

from tests import golden, recorded

AGAIN = "these words are no longer what tests/golden says. If they are better now, run: python -m tests.golden"
_LINES = 200


@pytest.mark.parametrize("name", recorded.NAMES)
def test_a_host_looks_as_it_did_when_somebody_read_it(name):
    told = []
    for file, text in golden.files(name).items():
        path = golden.GOLDEN / file
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        told += difflib.unified_diff(before.splitlines(), text.splitlines(), f"tests/golden/{file}", "today", lineterm="", n=1)
    if told:
        pytest.fail("\n".join((*told[:_LINES], AGAIN)), pytrace=False)


def test_nothing_is_kept_of_a_host_that_is_no_more():
    made = {file for name in recorded.NAMES for file in golden.files(name)}
    assert {path.name for path in golden.GOLDEN.iterdir()} == made


@pytest.mark.parametrize("name", golden.NAMED)
def test_what_is_kept_does_not_change_with_the_clock(name):
    recorded.report_of.cache_clear()
    once = golden.files(name)
    recorded.report_of.cache_clear()
    assert golden.files(name) == once
