"""What CONTRIBUTING shows exists, and its steps end green for a check that nobody has written before."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
FACTS = (ROOT / "docs/dev/facts.md").read_text(encoding="utf-8")
#: What maintainers read.
PAGES = [TEXT, FACTS, *((ROOT / "docs/dev" / name).read_text(encoding="utf-8") for name in ("checks.md", "testing.md", "releases.md"))]
SHOWN = re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", TEXT, re.DOTALL)
LINES = re.findall(r"<!-- in: (\S+) -->\n +```\w+\n +(.*?)\n +```", FACTS)
#: Seconds that the steps may take on a busy machine.
LIMIT_S = 800


def test_every_file_shown_is_the_file_itself():
    assert len(SHOWN) == 3
    for path, text in SHOWN:
        assert (ROOT / path).read_text(encoding="utf-8") == text, path


@pytest.mark.parametrize(("path", "line"), LINES)
def test_every_line_of_a_fact_shown_stands_in_its_file(path, line):
    assert line in (ROOT / path).read_text(encoding="utf-8")


def test_the_way_of_a_fact_is_shown_from_the_class_to_the_reader():
    assert [path.split("/")[1] for path, _ in LINES] == ["facts", "domains", "engine"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.partition("\n")[0])
def test_every_path_and_target_that_is_named_exists(page):
    for path in re.findall(r"`((?:hostagent|tests|checks|docs)/[a-z_0-9./]+?)/?`", page):
        assert (ROOT / path).exists(), path
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)\s+#", page)) | set(re.findall(r"`make ([a-z-]+)`", page)) <= targets


def test_the_hooks_before_a_commit_are_those_of_lint():
    """By the programs of .venv, so that a commit and the gate have one version of each."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    hooks = [hook for repository in config["repos"] for hook in repository["hooks"]]
    lint = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
    wanted = [line.strip().replace("$(BIN)", ".venv/bin") for line in lint.splitlines()]
    assert {repository["repo"] for repository in config["repos"]} == {"local"}
    assert {(hook["language"], hook["pass_filenames"]) for hook in hooks} == {("system", False)}
    assert [hook["entry"] for hook in hooks] == [line for line in wanted if "lint-imports" not in line]


@pytest.fixture
def checkout(tmp_path):
    """A copy of what git tracks or would track, as a clone has it."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_the_three_steps_end_green_for_a_new_check(checkout):
    for path, text in SHOWN:
        new = checkout / path.replace("hostname", "walked")
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_text(text.replace("def hostname(", "def walked("), encoding="utf-8")
    docs = re.search(r"^docs:.*\n((?:\t.*\n)+)", (checkout / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)[1]
    steps = re.search(r"<!-- run: check -->\n```\n(.*?)```", TEXT, re.DOTALL)[1].replace("hostname", "walked")
    script = (
        steps.replace("make docs\n", docs.replace("\t", "")).replace("$(BIN)/", ".venv/bin/").replace(".venv/bin/python", sys.executable)
    )
    here = {"PYTHONPATH": f"{checkout}:{checkout / 'checks'}"}
    run = ["bash", "-exc", f"git init -q .; {script}"]
    whole = {name: value for name, value in os.environ.items() if name not in ("SAMPLE", "TOPIC")}
    done = subprocess.run(run, cwd=checkout, env={**whole, **here}, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert (checkout / "checks/docs/host.walked.md").exists()
    assert "host.walked" in (checkout / "docs/dev/requirements.md").read_text(encoding="utf-8")


def test_every_file_that_answers_a_question_is_there():
    named = set(re.findall(r"`([a-z_][\w./]*\.py)`", (ROOT / "docs/dev/where.md").read_text(encoding="utf-8")))
    assert len(named) > 40
    assert [path for path in sorted(named) if not (ROOT / "hostagent" / path).exists() and not (ROOT / path).exists()] == []
