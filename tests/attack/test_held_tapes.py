"""A snapshot of a stranger, in every command that takes one: refused in a sentence, or judged; it gets no ready, no script, no file."""

import contextlib
import os

import pytest

from hostagent.outputs import FORMATS
from tests.attack import held_tapes
from tests.attack.held_judge import PLACEABLE, wrongs
from tests.attack.held_run import HOSTS, Rows, some

FEWEST = 505
TAPES = {**held_tapes.REFUSED, **held_tapes.EITHER, **held_tapes.JUDGED}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    with contextlib.closing(Rows(tmp_path_factory.mktemp("temporary"))) as running:
        yield running


def commands(tape, place):
    """Arguments, and the form of the report that they give, "" for none."""
    yield from ((("check", "--from", tape, "--format", form), form) for form in FORMATS)
    yield ("snapshot", "show", tape), ""
    yield ("snapshot", "show", "--list", tape), ""
    yield ("snapshot", "show", tape, "host"), ""
    yield ("snapshot", "diff", tape, HOSTS / "no-gpu-vm"), ""
    yield ("snapshot", "adopt", tape, place / "adopted"), ""


def test_no_fewer_are_tried_than_were_before():
    tried = len(list(commands("", held_tapes.HOSTS))) * len(TAPES)
    assert tried >= FEWEST, tried


@pytest.mark.parametrize("name", TAPES)
def test_a_hostile_snapshot_is_refused_or_judged(name, rows, tmp_path):
    tape = TAPES[name](tmp_path)
    found = []
    # One that is refused is refused by the same loader whatever the command: every second command in the gate.
    for arguments, form in some(list(commands(tape, tmp_path)), 2 if name in held_tapes.REFUSED else 1):
        outcome = rows.run(*arguments, cwd=tmp_path)
        codes = (
            (2,)
            if name in held_tapes.REFUSED
            else (0, 1, 2)
            if name in held_tapes.EITHER
            else (0, 1)
            if form or "diff" in arguments
            else (0, 2)
        )
        found += [
            f"{' '.join(map(str, arguments[:2]))} {form}: {one}" for one in wrongs(outcome, form, never=PLACEABLE, codes=codes, tabs=True)
        ]
    assert not found, "\n".join(found)
    assert os.listdir(rows.temporary) == []
    made = set(os.listdir(tmp_path)) - {"tape.json"}
    assert made <= {"adopted"}
    assert not made or sorted(os.listdir(tmp_path / "adopted")) == ["expect.yaml", "tape.json"]
