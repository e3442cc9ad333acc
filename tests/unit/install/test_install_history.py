"""The list of runs, as a person reads it, and which of them is taken back next."""

import json
import os

import pytest
from click.testing import CliRunner

from hostagent.cli import cli
from hostagent.engine.target import Evidence
from hostagent.install import runs
from hostagent.install.target import Target

UNDO = {"kind": "restore", "do": []}
STEPS = [
    {"id": "driver.packages", "part": "driver", "kind": "packages", "state": "to-do", "do": [{"run": {"argv": ["true"]}}], "undo": UNDO},
    {"id": "driver.nouveau", "part": "driver", "kind": "file", "state": "to-do", "do": [{"write": {"path": "/etc/a"}}], "undo": UNDO},
]
PACKAGES = [{"name": f"libnvidia-p{number}", "part": "driver", "from": None, "to": "580.178.04-1"} for number in range(12)]


@pytest.fixture
def root(tmp_path):
    os.makedirs(tmp_path / "var/lib/hostagent", mode=0o700)
    return tmp_path


def listed(root, columns="60"):
    return CliRunner(env={"COLUMNS": columns}).invoke(cli, ["rollback", "--list", "--root", str(root)]).output


def remember(root, *events, did=("driver.packages", "driver.nouveau")):
    with runs.opened(Target(Evidence(root=str(root)))) as run:
        run.add_plan({"steps": STEPS, "packages": PACKAGES})
        runs.begin(run)
    for step in did:
        run.note("operation", step=step, number=0, seconds=1.0, rc=0, ok=True)
    for event, what in events:
        run.note(event, **what)
    return run


def test_each_run_says_when_how_it_ended_and_what_it_changed_and_the_next_one_is_marked(root):
    remember(root, ("end", {"outcome": "failed", "message": "driver.packages: no headers"}), did=())
    remember(root, ("end", {"outcome": "done", "message": ""}))
    remember(root, ("end", {"outcome": "done", "message": ""}), ("undo", {}), ("undone", {"kept": []}))
    lines = listed(root).splitlines()
    assert max(map(len, lines)) <= 60
    words = " ".join(line.strip() for line in lines)
    heads = [line for line in lines if line.startswith("Run ")]
    assert [head.split(",")[0] for head in heads] == ["Run 1", "Run 2", "Run 3"]
    assert "UTC: failed: driver.packages: no headers changed nothing Run 2" in words
    assert "UTC: done changed driver 580.178.04-1, 12 packages, 1 file; the next rollback takes it back Run 3" in words
    assert words.endswith("UTC: taken back changed driver 580.178.04-1, 12 packages, 1 file")


def test_a_run_that_did_not_end_is_next_and_a_damaged_one_is_listed(root):
    run = remember(root)
    assert "did not end" in listed(root)
    for text in ("", "[]", "{", json.dumps({"steps": [7], "packages": []})):
        with open(f"{run.path}/plan.json", "w") as stream:
            stream.write(text)
        assert "its plan cannot be read; the next rollback" in listed(root, "200")


def test_the_newest_run_that_was_not_undone_is_next(root):
    target = Target(Evidence(root=str(root)))
    assert runs.to_undo(target) is None
    remember(root, ("end", {"outcome": "failed", "message": "x"}))
    second = remember(root, ("end", {"outcome": "done", "message": ""}))
    assert runs.to_undo(target).number == 2
    second.note("undone", kept=[])
    assert runs.to_undo(target).number == 1


def test_a_run_is_called_by_the_drivers_version_and_not_by_its_compilers():
    from hostagent.install.history import changes_text

    compiler = [{"name": f"gcc-{number}", "part": "driver", "from": None, "to": "14.2.0-19"} for number in range(20)]
    driver = [{"name": name, "part": "driver", "from": None, "to": "590.48.01-1"} for name in ("libcuda1", "nvidia-kernel-open-dkms")]
    assert changes_text([{"packages": compiler + driver, "steps": STEPS}], ["driver.packages"]) == "driver 590.48.01-1, 22 packages"
    assert changes_text([{"packages": compiler, "steps": STEPS}], ["driver.packages"]) == "20 packages"
