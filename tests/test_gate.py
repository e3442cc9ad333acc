"""The gate says the same every time, takes its slices of each group, and runs on the oldest Python too."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import sampling
from tests.over import over
from tests.sampling import CHANGED_SLICES, GROUPS, Group, chosen, sliced

ROOT = Path(__file__).parent.parent
TESTS = [path for path in (ROOT / "tests").rglob("*.py") if path.name not in ("conftest.py", Path(__file__).name)]


def test_the_gate_draws_the_same_examples_every_time():
    gate = settings.get_profile("gate")
    assert (gate.derandomize, gate.database, gate.deadline) == (True, None, None)
    fuzz = settings.get_profile("fuzz")
    assert (fuzz.derandomize, fuzz.deadline) == (False, None)


def test_no_run_but_fuzzing_draws_others(request):
    assert settings().derandomize is (request.config.getoption("--hypothesis-profile") != "fuzz")


def test_no_property_has_a_draw_or_a_wall_clock_of_its_own():
    own = re.compile(r"@seed\b|\bsettings\([^)]*\b(?:derandomize|database|deadline)=(?!None)")
    assert [str(path) for path in TESTS if own.search(path.read_text(encoding="utf-8"))] == []


def test_a_python_that_is_not_there_is_named_and_no_success():
    done = subprocess.run(["bash", ROOT / "tests/pythons.sh", "3.99"], capture_output=True, text=True, check=False, env=dict(os.environ))
    assert (done.returncode, "NOT TESTED" in done.stderr, "missing 3.99" in done.stdout) == (1, True, True)


def test_the_gate_runs_on_the_floor():
    (floor,) = re.findall(r'requires-python = ">=(\S+)"', (ROOT / "pyproject.toml").read_text())
    gate = (ROOT / ".ci/run").read_text()
    assert re.search(rf"^export SAMPLE={re.escape(floor)}$", gate, re.MULTILINE)
    assert re.search(rf"^bash tests/pythons\.sh .* {re.escape(floor)}$", gate, re.MULTILINE)


@given(st.integers(0, 60), st.integers(4, 20), st.integers(0, 2**32 - 1))
def test_the_slices_of_as_many_commits_as_a_group_has_are_all_its_tests_and_each_once(count, one_in, commit):
    ids, group = [f"tests/x.py::test_{number}" for number in range(count)], Group("x", ("tests/",), (), one_in)
    parts = [sliced(ids, group, commit + number, 1) for number in range(one_in)]
    assert sorted(one for part in parts for one in part) == sorted(ids)
    assert max(map(len, parts)) - min(map(len, parts)) <= 1
    assert sliced(ids, group, commit, CHANGED_SLICES) == {
        one for number in range(CHANGED_SLICES) for one in sliced(ids, group, commit + number, 1)
    }


@over("group", GROUPS.values())
def test_no_group_is_whole_in_the_gate_not_even_one_that_a_change_touches(group):
    assert group.one_in > CHANGED_SLICES


@over("group", GROUPS.values())
def test_a_group_names_tests_and_paths_that_are_there(group):
    for name in (*group.tests, *group.without):
        path, _, function = name.partition("::")
        assert list(ROOT.glob(f"{path}*")), name
        assert not function or f"def {function}" in (ROOT / path).read_text(encoding="utf-8"), name
    assert [path for path in group.paths if not (ROOT / path).exists()] == []


def test_no_test_is_in_two_groups():
    shared = [(one.name, other.name, test) for one in GROUPS.values() for other in GROUPS.values() for test in one.tests if one is not other and not one.alone and not other.alone and test in other]  # fmt: skip
    assert shared == []


IDS = [
    "tests/test_shape.py::test_law",
    *(f"{test}::test_{number}" for group in GROUPS.values() for test in group.tests for number in range(40)),
]


def test_what_is_in_no_group_runs_each_time():
    assert "tests/test_shape.py::test_law" in chosen(IDS, 7)


@over("name", [name for name, group in GROUPS.items() if not group.alone])
def test_a_group_that_a_change_touches_runs_three_slices_and_the_others_one(name):
    usual, changed = chosen(IDS, 7), chosen(IDS, 7, frozenset({name}))
    assert usual < changed
    assert {sampling.group_of(one).name for one in changed - usual} == {name}


def test_the_run_of_one_group_collects_a_slice_of_its_files():
    (alone,) = (group for group in GROUPS.values() if group.alone)
    files, total = sampling.files_alone(alone.name)
    assert total / alone.one_in - 1 <= len(files) <= CHANGED_SLICES * total / alone.one_in + CHANGED_SLICES
    assert [one for one in files if one not in alone or not (ROOT / one).is_file()] == []


class Item:
    def __init__(self, nodeid):
        self.nodeid = nodeid


@given(st.lists(st.sampled_from(IDS), unique=True), st.integers(1, 5))
def test_slow_tests_come_first_in_each_share_and_none_is_lost(ids, workers):
    found = [item.nodeid for item in sampling.slow_first([Item(one) for one in ids], workers)]
    assert sorted(found) == sorted(ids)
    slow = {one.split("::")[0] for one in ids if sampling.group_of(one)}
    if workers == 1 and slow:
        assert sampling.group_of(found[0])


def test_a_loop_tries_all_and_names_every_offender(tmp_path):
    @over("number", range(9))
    @over("word", ("a", "b"))
    def law(tmp_path, number, word):
        assert number % 3, f"{word} in {tmp_path.name}"

    @over("word", ("a",))
    def skipping(word):
        pytest.skip(word)

    with pytest.raises(AssertionError, match=r"3 of 9:\n0: AssertionError: 2 of 2:\na: AssertionError: a in .*\n(?s:.*)\n6: "):
        law(tmp_path=tmp_path)
    with pytest.raises(AssertionError, match="1 of 1:\na: Skipped: a"):
        skipping()
    with pytest.raises(AssertionError, match="there is none"):
        over("number", ())(law)(tmp_path=tmp_path, word="a")


@pytest.fixture
def clone(tmp_path):
    """Two commits that its origin has, and two that it lacks."""

    def git(*arguments, at="origin"):
        identity = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        done = subprocess.run(["git", *identity, *arguments], cwd=tmp_path / at, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    def commit(at):
        git("commit", "-q", "--allow-empty", "-m", "x", at=at)
        return git("rev-parse", "HEAD", at=at)

    (tmp_path / "origin").mkdir()
    git("init", "-q", "-b", "main")
    commits = [commit("origin"), commit("origin")]
    git("clone", "-q", "origin", "clone", at=".")
    return tmp_path / "clone", [*commits, commit("clone"), commit("clone")]


def test_a_change_begins_where_its_origin_ends(clone):
    path, commits = clone
    assert sampling._git("rev-parse", sampling.base_of_change(path), root=path) == commits[1]
    assert sampling._git("rev-parse", sampling.base_of_change(path.parent / "origin"), root=path.parent / "origin") == commits[0]


def test_without_history_no_group_counts_as_changed(tmp_path):
    assert sampling._git("diff", "--name-only", sampling.base_of_change(tmp_path), "--", root=tmp_path) == ""
    assert sampling.changed_groups("no-such-revision") == frozenset()
