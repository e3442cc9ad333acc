"""What the programs keep of one node."""

import os
import stat
import time

import pytest

from hostagent.core import lockfile
from hostagent.slurm.programs import spool as spools
from hostagent.slurm.programs.spool import Marker, Spool, is_node_name


@pytest.fixture
def spool(tmp_path):
    return Spool.open(str(tmp_path / "state"), "n1")


@pytest.mark.parametrize("name", ["", "..", "a/b", "n[1-2]", "n1,n2", "n1 n2", "-n", "n1\n", "x" * 256, "é"])
def test_a_name_that_is_no_nodes_is_no_file(tmp_path, name):
    assert not is_node_name(name)
    with pytest.raises(ValueError, match="node name"):
        Spool(str(tmp_path), name)


@pytest.mark.parametrize("job", ["", "../1", "1_2", "1\n", "one"])
def test_a_job_id_that_is_none_is_no_file(spool, job):
    with pytest.raises(ValueError, match="job id"):
        spool.note_job(job, 1.0)


def test_nothing_is_known_at_first(spool):
    assert (spool.markers(), spool.unknown_at(), spool.job_began_at("7")) == ((), 0, 0)


def test_all_but_the_verdict_is_roots_alone(spool):
    spool.add_marker(Marker(1.0, "prolog", "x"))
    spool.note_unknown(1.0)
    spool.note_job("7", 1.0)
    spool.note_update(1.0, {"State": "DRAIN"}, is_made=True)
    spool.save_verdict("{}\n")
    with spool.lock():
        pass
    modes = {name: stat.S_IMODE(os.stat(os.path.join(spool.folder, name)).st_mode) for name in os.listdir(spool.folder)}
    assert modes.pop("verdict.json") == 0o644
    assert set(modes.values()) == {0o600}


def test_begins_of_jobs_that_no_epilog_removes_do_not_pile_up(spool, monkeypatch):
    monkeypatch.setattr(spools, "_JOBS", 3)
    for job in range(9):
        spool.note_job(str(job), 1.0 + job)
        os.utime(os.path.join(spool.folder, f"n1.job-{job}"), (job, job))
    assert [job for job in range(9) if spool.job_began_at(str(job))] == [6, 7, 8]


def test_the_begin_of_a_job_is_remembered_until_it_is_forgotten(spool):
    spool.note_job("7", 1234.5)
    assert (spool.job_began_at("7"), spool.job_began_at("8")) == (1234.5, 0)
    spool.forget_job("7")
    assert spool.job_began_at("7") == 0


def test_unknown_is_remembered_until_it_is_cleared(spool):
    spool.note_unknown(99.25)
    assert spool.unknown_at() == 99.25
    spool.clear_unknown()
    assert spool.unknown_at() == 0


def test_the_newest_sixteen_refusals_are_kept(spool):
    for at in range(20):
        spool.add_marker(Marker(float(at), "prolog", "x" * 500))
    assert [one.at for one in spool.markers()] == [float(at) for at in range(4, 20)]


def test_nodes_of_one_machine_have_files_of_their_own(tmp_path, spool):
    other = Spool.open(str(tmp_path / "state"), "n2")
    spool.add_marker(Marker(1.0, "prolog", "x"))
    spool.note_unknown(1.0)
    with spool.lock(), other.lock():
        assert (other.markers(), other.unknown_at()) == ((), 0)


def test_the_second_lock_is_refused_at_once(tmp_path, spool):
    began = time.monotonic()
    with spool.lock(), pytest.raises(lockfile.LockTimeoutError), Spool.open(str(tmp_path / "state"), "n1").lock():
        pass
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", "[{}]", '[{"at": 1, "program": "bash", "reason": ""}]', '[{"at": -1, "program": "prolog", "reason": ""}]']
)
def test_refusals_that_are_damaged_are_none(spool, text):
    with open(os.path.join(spool.folder, "n1.refused.json"), "w", encoding="utf-8") as stream:
        stream.write(text)
    assert spool.markers() == ()


@pytest.mark.parametrize("text", ["", "soon", "nan", "-1", "1e99"])
def test_a_time_that_is_damaged_is_not_known(spool, text):
    with open(os.path.join(spool.folder, "n1.unknown"), "w", encoding="utf-8") as stream:
        stream.write(text)
    assert spool.unknown_at() == 0


def test_a_directory_that_others_may_write_is_refused(tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o777)
    with pytest.raises(OSError, match="everybody may write"):
        Spool.open(str(tmp_path / "state"), "n1")


def test_what_stands_in_the_place_of_the_directory_is_said(tmp_path):
    (tmp_path / "state").write_text("", encoding="ascii")
    with pytest.raises(OSError, match="exists"):
        Spool.open(str(tmp_path / "state"), "n1")
