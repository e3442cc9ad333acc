"""``hostagent fleet`` as its users meet it."""

import json
import os
import resource
import subprocess
import sys

import pytest

from tests.fleet_hosts import FOLDER
from tests.readme import ROOT


def run(*words, cwd=ROOT):
    argv = [sys.executable, "-m", "hostagent", "fleet", *map(str, words)]
    search = {name: value for name, value in os.environ.items() if name == "PYTHONPATH"}
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=cwd, env={"COLUMNS": "100", **search})


def copies(folder, count):
    texts = [path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.json"))]
    for number in range(count):
        text = texts[number % len(texts)]
        made = json.loads(text) | {"node": f"gpu-{number:04}"}
        (folder / f"{number:04}.json").write_text(json.dumps(made), encoding="utf-8")
    return folder


def test_whatever_the_nodes_say_the_exit_code_is_0(tmp_path):
    for place in (FOLDER, FOLDER / "gpu-09.json", tmp_path):
        done = run(place)
        assert (done.returncode, done.stderr) == (0, "")


def test_directories_and_files_may_be_given_together(tmp_path):
    (tmp_path / "a.json").write_text((FOLDER / "gpu-01.json").read_text(encoding="utf-8"), encoding="utf-8")
    done = run(tmp_path, FOLDER / "gpu-02.json", FOLDER / "gpu-01.json", "--json")
    assert [one["node"] for one in json.loads(done.stdout)["nodes"]] == ["gpu-01", "gpu-02"]


def test_a_file_that_is_no_report_is_named_and_costs_the_others_nothing(tmp_path):
    (tmp_path / "a.json").write_text((FOLDER / "gpu-01.json").read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "b.json").write_text("{")
    done = run(tmp_path)
    assert done.stdout.startswith("1 of 1 node may take jobs")
    assert "b.json: found no JSON" in done.stdout


@pytest.mark.parametrize(
    "words", [[], ["/nonexistent"], [FOLDER, "--format", "yaml"], [FOLDER, "--json", "--format", "html"], ["/dev/null"]]
)
def test_a_mistake_is_exit_code_2_and_one_sentence(words):
    done = run(*words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Error: " in done.stderr
    assert "Traceback" not in done.stderr


def test_a_page_goes_into_a_file(tmp_path):
    done = run(FOLDER, "--format", "html", "-o", tmp_path / "fleet.html")
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "fleet.html").read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_thousand_nodes_take_half_a_second_of_processor_time(tmp_path, form):
    folder = copies(tmp_path, 1000)

    def seconds():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert run(folder, "--format", form, "-o", tmp_path / "out").returncode == 0
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(seconds() for _ in range(3)) < 0.5
