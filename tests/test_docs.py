"""The generated pages are those that `make docs` would write now."""

import os

import pytest

from hostagent.docs import FOLDER, ROOT, pages

PAGES = pages()


@pytest.mark.parametrize("path", sorted(PAGES))
def test_a_generated_page_has_not_drifted(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as stream:
        assert stream.read() == PAGES[path], "run 'make docs' and commit the result"


def test_no_page_outlives_its_check():
    found = {f"{FOLDER}/{name}" for name in os.listdir(os.path.join(ROOT, FOLDER))}
    assert found <= set(PAGES), "run 'make docs' and commit the result"
