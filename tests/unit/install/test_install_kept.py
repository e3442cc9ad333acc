"""What a run keeps, so that it can be taken back: whole under its name, or not at all, wherever the run ended or found no space."""

import os
import resource
from contextlib import contextmanager

import pytest

from hostagent.engine.target import Evidence
from hostagent.install import leftovers, restoring, retained, runs, state
from hostagent.install.jobs import Job
from hostagent.install.target import Target
from hostagent.plan.model import PlanStep, Probe, Undo, Write
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
    with runs.opened(target) as made:
        runs.begin(made)
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
    with room_for(1000), pytest.raises(OSError, match=r"File too large: .*/copies/new"):
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
    with room_for(os.path.getsize(f"{run.path}/journal.jsonl") + 10), pytest.raises(OSError, match=r"File too large: .*/journal\.jsonl"):
        run.note("part", part="driver", steps=[])
    run.note("end", outcome="failed", message="")
    assert [one["event"] for one in run.journal()] == ["begin", "end"]


def test_what_ansible_was_filling_when_it_was_killed_goes_and_nothing_else(target, run):
    do, undo = [{"write": {"path": "/etc/apt/sources.list.d/a.sources"}}], {"kind": "restore", "do": []}
    run.add_plan({"steps": [{"id": "a", "state": "to-do", "do": do, "undo": undo}]})
    half, others = (
        ("tmpa1_b2c3d", ".ansible_tmpa1b2c3d4a.sources"),
        ("tmpa1b2c3d", "tmpa1b2c3d45", "a.sources", "tmpA1b2c3d4", "tmplinked_"),
    )
    place = f"{target.path}/etc/apt/sources.list.d"
    os.makedirs(f"{place}/tmpfolder_1")
    os.symlink("a.sources", f"{place}/tmplinked__")
    for name in (*half, *others):
        with open(f"{place}/{name}", "w", encoding="utf-8") as stream:
            stream.write("x")
    leftovers.clear_half_written(target, run)
    assert sorted(os.listdir(place)) == sorted((*others, "tmpfolder_1", "tmplinked__"))
    with open(f"{place}/{half[0]}", "w", encoding="utf-8"), open(f"{run.path}/plan.json", "w", encoding="utf-8"):
        leftovers.clear_half_written(target, run)
    assert half[0] in os.listdir(place)


def test_a_file_of_a_step_is_laid_with_the_mode_that_it_gets(target, tmp_path):
    step = PlanStep("a.b", "driver", "file", "", "", Probe("", lambda _: True), (Write("/etc/x", "x", 0o640),), Undo("restore"), ())
    job = Job((step,), {}, {"/etc/x": f"{target.path}/etc/x"})
    ((what,),) = (one["do"][0].values() for one in job.for_playbook(target, str(tmp_path))["steps"])
    assert os.stat(what["source"]).st_mode & 0o777 == 0o640


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
