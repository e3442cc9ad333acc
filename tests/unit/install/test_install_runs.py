"""What a host remembers of its runs, and that a root from elsewhere cannot lead them out of itself."""

import os

import pytest

from hostagent.core.errors import HostagentError
from hostagent.engine.target import Evidence
from hostagent.install import runs, state
from hostagent.install.rollback import Rollback
from hostagent.install.target import Target
from tests.plan_hosts import made_view


@pytest.fixture
def root(tmp_path):
    os.makedirs(tmp_path / "root/var/lib/hostagent", mode=0o700)
    return tmp_path / "root"


def test_a_run_counts_once_its_beginning_is_written(root):
    target = Target(Evidence(root=str(root)))
    with runs.opened(target) as run:
        assert runs.newest(target) is None
        run.save("before.json", {})
        runs.begin(run)
    assert [one.number for one in runs.runs(target)] == [1]
    assert runs.to_continue(target).state == "begun"


@pytest.mark.parametrize(
    "where", ["runs", "runs/.new", "runs/1", "runs/1/log", "runs/1/journal.jsonl", "runs/1/copies", "runs/1/copies/ab"]
)
def test_a_link_among_the_runs_of_a_root_is_refused_before_anything_is_written(where, root, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    link = root / "var/lib/hostagent" / where
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(outside)
    target = Target(Evidence(root=str(root)))
    with pytest.raises(HostagentError, match="found a link"), runs.opened(target):
        pytest.fail("a run began")
    with pytest.raises(HostagentError, match="found a link"):
        runs.to_continue(target)
    assert list(outside.iterdir()) == []


def test_a_rollback_runs_no_program_that_others_may_write(root):
    program = root / "usr/bin/dpkg"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o777)
    target, view = Target(Evidence(root=str(root))), made_view("debian12")
    with runs.opened(target) as run:
        run.save("before.json", {"packages": state.packages_of(view.installation), "files": {}})
        run.add_plan({"steps": []})
        runs.begin(run)
    (root / "var/lib/hostagent/lock").touch(mode=0o600)
    said = []
    rollback = Rollback(target, lambda: view, 5, said.append, lambda: True, said.append)
    with pytest.raises(HostagentError, match="dpkg is not run"):
        rollback.perform()
    assert not rollback.began
    assert runs.newest(target).state == "begun"
