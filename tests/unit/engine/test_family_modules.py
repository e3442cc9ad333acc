"""What the checks of a family share: a module with an underscore beside them, which obeys the law of checks."""

import itertools

import pytest

from hostagent.core.errors import HostagentError
from hostagent.engine.catalogue import load
from hostagent.engine.lint import lint

NUMBERS = itertools.count()  # a name is imported once in a process
CHECK = """\
{imported}
from hostagent.check import Findings, check, fail
from hostagent.facts.gpu import Gpu


@check(title="T", severity="info", since="1.0", remedy="R.", references=("none",))
def first(gpu: Gpu) -> Findings:
    yield fail("x", code="x", found=LIMIT)
"""


@pytest.fixture
def catalogue(tmp_path, monkeypatch):
    """Writes a catalogue with one check that imports `_shared` and returns its name; `files` are added below it."""

    def write(files, imported="from ._shared import LIMIT"):
        name = f"shared{next(NUMBERS)}_checks"
        content = {"__init__.py": "", "gpu/__init__.py": "", "gpu/first.py": CHECK.format(imported=imported), **files}
        for place, text in content.items():
            path = tmp_path / name / place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text.replace("RAN", str(tmp_path / "ran")))
        monkeypatch.syspath_prepend(str(tmp_path))
        return name

    write.ran = tmp_path / "ran"
    return write


def test_the_checks_of_a_family_share_a_module_and_it_is_no_check(catalogue):
    name = catalogue({"gpu/_shared.py": "from ._words import LIMIT\n", "gpu/_words.py": "LIMIT = 40\n"})
    assert [one.id for one in load([name])] == [f"{name}.gpu.first"]


@pytest.mark.parametrize("line", ["from ._peers import alike", "from ._peers import alike, told", "from ._x1 import Y as z"])
def test_a_sibling_with_an_underscore_may_be_imported(line):
    assert lint(line) == ()


@pytest.mark.parametrize(
    "line",
    [
        "from .peers import alike",
        "from .._peers import alike",
        "from ..gpu._peers import alike",
        "from ._peers.inner import alike",
        "from . import _peers",
        "from . import *",
        "from ._peers import *",
        "from ._peers import _own",
        "from ._peers import __builtins__",
        "from ._peers import os",
        "from .__init__ import alike",
        "from .__main__ import alike",
        "from _peers import alike",
        "import _peers",
    ],
)
def test_no_other_neighbour_may_be_imported(line):
    assert lint(line)


UNLAWFUL = "open('RAN', 'w')\nLIMIT = 1\n"


@pytest.mark.parametrize(
    "files",
    [
        {"gpu/_shared.py": UNLAWFUL},
        {"gpu/_shared.py": UNLAWFUL, "gpu/__init__.py": "from ._shared import LIMIT\n"},
        {"gpu/_shared.py": "from ._words import LIMIT\n", "gpu/_words.py": UNLAWFUL},
        {"gpu/_shared.py": "LIMIT = 1\n", "_words.py": UNLAWFUL, "__init__.py": "from ._words import LIMIT\n"},
        {"gpu/_shared.py": "LIMIT = 1\n", "gpu/_unused.py": UNLAWFUL},
    ],
    ids=["by a check", "by its family", "by another", "by the catalogue", "by nobody"],
)
def test_nothing_of_an_unlawful_shared_module_runs_whoever_imports_it_first(catalogue, files):
    with pytest.raises(HostagentError, match="line 1: uses open"):
        load([catalogue(files)])
    assert not catalogue.ran.exists()


@pytest.mark.parametrize(
    "files",
    [{"gpu/_shared/__init__.py": "", "gpu/_shared/LIMIT.py": UNLAWFUL}, {"gpu/_shared/LIMIT.py": UNLAWFUL}],
    ids=["a package", "a folder"],
)
def test_a_shared_module_is_one_file(catalogue, files):
    """The import of a name from a package takes a module of that name, which nobody has judged."""
    with pytest.raises(HostagentError, match=r"found no Python source of the catalogue's shared\d+_checks\.gpu\._shared"):
        load([catalogue(files)])
    assert not catalogue.ran.exists()


def test_what_only_begins_with_an_underscore_is_left_alone(catalogue):
    name = catalogue({"gpu/_shared.py": "LIMIT = 1\n", "gpu/_notes.md": "open()", "gpu/__pycache__/x.pyc": ""})
    assert len(load([name])) == 1
