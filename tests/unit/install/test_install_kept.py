"""What a run keeps, so that it can be taken back: whole under its name, or not at all, wherever the run ended or found no space."""

import os
import resource
from contextlib import contextmanager

import pytest

from hostagent.evidence import Evidence
from hostagent.install import restoring, retained, runs, state
from hostagent.install.target import Target
from tests.real.stubdebs import Deb, write

TEXT = "a line of a file that is longer than the room that is left\n" * 500


@pytest.fixture
def target(tmp_path):
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/a").write_text(TEXT)
    os.makedirs(tmp_path / "var/lib/hostagent", mode=0o700)
    return Target(Evidence(root=str(tmp_path)))


@pytest.fixture
def run(target):
    with runs.begun(target) as made:
        pass
    return made


@contextmanager
def room_for(count):
    """No file gets longer."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_piece_of_a_copy_is_never_taken_for_it(target, run):
    before = state.files_of(target, ())
    with room_for(1000), pytest.raises(OSError, match="File too large"):
        state.keep(target, before, run)
    state.keep(target, before, run)
    os.truncate(f"{target.path}/etc/a", 0)
    assert restoring.put_back(target, run, before) == ()
    with open(f"{target.path}/etc/a", encoding="utf-8") as stream:
        assert stream.read() == TEXT


def test_copies_that_a_run_dropped_before_it_was_killed_are_made_again_of_what_is_as_it_was(target, run):
    with open(f"{target.path}/etc/b", "w", encoding="utf-8") as stream:
        stream.write("b")
    before = state.files_of(target, ())
    state.keep(target, before, run)
    with open(f"{target.path}/etc/b", "w", encoding="utf-8") as stream:
        stream.write("changed")
    state.drop_copies(run, [before["/etc/b"].digest])
    assert set(state.unchanged(target, before)) == {"/etc", "/etc/a"}
    state.keep(target, state.unchanged(target, before), run)
    assert all(os.path.exists(f"{run.path}/copies/{before[path].digest}") for path in ("/etc/a", "/etc/b"))


def test_a_line_that_found_no_space_costs_no_line_after_it(run):
    with room_for(os.path.getsize(f"{run.path}/journal.jsonl") + 10), pytest.raises(OSError, match="File too large"):
        run.note("part", part="driver", steps=[])
    run.note("end", outcome="failed", message="")
    assert [one["event"] for one in run.journal()] == ["begin", "end"]


def test_a_piece_of_a_package_is_no_package(tmp_path):
    write(Deb("a", "1:1.0-1", files={"usr/share/a": b"a" * 101}), tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    assert retained.file_of(str(tmp_path), "a:amd64", "1:1.0-1") == path.name
    for size in (0, 4, 8, 40, *range(60, len(whole) - 1, 7), len(whole) - 2):
        path.write_bytes(whole[:size])
        assert retained.file_of(str(tmp_path), "a:amd64", "1:1.0-1") == "", size
    path.write_bytes(b"#" * len(whole))
    assert retained.file_of(str(tmp_path), "a:amd64", "1:1.0-1") == ""
