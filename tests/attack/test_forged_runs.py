"""A run that somebody else wrote into an image: nothing of it becomes a path, or keeps its reader, before its shape is looked at."""

import json
import os
import shutil

import pytest

from hostagent.core.errors import HostagentError
from hostagent.engine.target import Evidence
from hostagent.install import runs, state
from hostagent.install.history import summary_of
from hostagent.install.leftovers import clear_half_written
from hostagent.install.remembered import state_of, unfinished
from hostagent.install.restoring import put_back
from hostagent.install.rollback import Rollback, plan_rollback
from hostagent.install.target import Target
from tests.plan_hosts import made_view

GOOD = ["file", 0o644, 0, 0, "", "a" * 64, 1]
PACKAGE = {"name": "a", "version": "1", "arch": "amd64", "state": "installed", "held": False, "automatic": False}


def write_step(path):
    return {"id": "x", "state": "to-do", "do": [{"write": {"path": path, "content": "x"}}], "undo": {"kind": "restore", "do": []}}


def forged(at, value):
    """A row of one file with `value` in that place."""
    return {"/etc/a": [*GOOD[:at], value, *GOOD[at + 1 :]]}


FILES = {
    "a digest that leads out": forged(5, "../../../../../../../etc/shadow"),
    "a digest from / on": forged(5, "/etc/shadow"),
    "a digest in upper case": forged(5, "A" * 64),
    "a digest with a line behind it": forged(5, "a" * 64 + "\n"),
    "no digest": forged(5, ""),
    "a digest that is a number": forged(5, 7),
    "a digest that is a list": forged(5, ["a" * 64]),
    "another kind": forged(0, "device"),
    "a mode beyond": forged(1, 1 << 70),
    "a mode below": forged(1, -1),
    "a mode that is text": forged(1, "0644"),
    "a mode that is true": forged(1, True),
    "nobody's number": forged(2, -1),
    "a group beyond": forged(3, 1 << 32),
    "a time beyond": forged(6, 1 << 63),
    "a link's target of a file": forged(4, "/etc/shadow"),
    "a link without one": {"/etc/a": ["link", 0o777, 0, 0, "", "", 0]},
    "a link with a zero byte": {"/etc/a": ["link", 0o777, 0, 0, "a\0b", "", 0]},
    "a row with more": {"/etc/a": [*GOOD, 1]},
    "a row with nothing": {"/etc/a": []},
    "no row": {"/etc/a": "file"},
    "a path upwards": {"/etc/../../x": GOOD},
    "a path of here": {"etc/a": GOOD},
    "a path that ends in a dot": {"/etc/.": GOOD},
    "a path with two slashes": {"/etc//a": GOOD},
    "a path with a zero byte": {"/etc/a\0b": GOOD},
    "no path": {"": GOOD},
    "no mapping": [["/etc/a", GOOD]],
}
PACKAGES = {
    "a package that is an option": {"-oDPkg::Pre-Invoke::=x:amd64": PACKAGE},
    "a package that is a path": {"../../x:amd64": PACKAGE},
    "a version that is a path": {"a:amd64": {**PACKAGE, "version": "../../../x"}},
    "a version with a blank": {"a:amd64": {**PACKAGE, "version": "1 -o x"}},
    "a version that is a number": {"a:amd64": {**PACKAGE, "version": 1}},
    "a package that is a list": {"a:amd64": [1]},
    "packages that are a list": ["a:amd64"],
    "packages that are nothing": None,
    "a package without its architecture": {"a": PACKAGE},
    "a package without its mark": {"a:amd64": {key: value for key, value in PACKAGE.items() if key != "automatic"}},
}
PLANS = {
    "a path upwards": {"steps": [write_step("/etc/../../../tmp/x")]},
    "a path of here": {"steps": [write_step("etc/x")]},
    "a path that is a list": {"steps": [write_step(["/etc/x"])]},
    "another operation": {"steps": [{**write_step("/etc/x"), "do": [{"link": {"path": "/etc/x"}}]}]},
    "two operations in one": {
        "steps": [{**write_step("/etc/x"), "do": [{"remove": {"path": "/a"}, "write": {"path": "/b", "content": ""}}]}]
    },
    "words of a program that are none": {"steps": [{**write_step("/etc/x"), "undo": {"kind": "run", "do": [{"run": {"argv": "ls"}}]}}]},
    "a program without words": {"steps": [{**write_step("/etc/x"), "undo": {"kind": "run", "do": [{"run": {}}]}}]},
    "no step": {"steps": ["x"]},
    "no steps": {},
    "a list": [],
}
TEXTS = {
    "no JSON": b"{",
    "no text": b"\xff\xfe\xff",
    "too deep": b"[" * 100_000,
    "a number without end": b'{"packages": {}, "files": {"/etc/a": ["file", ' + b"9" * 10_000 + b"]}}",
    "nothing": b"null",
}


@pytest.fixture
def image(tmp_path):
    """A root with one run that ended well, and what is made of it."""
    root = tmp_path / "root"
    (root / "var/lib/hostagent").mkdir(parents=True, mode=0o700)
    (root / "var/lib/hostagent/lock").touch(mode=0o600)
    (root / "etc").mkdir()
    target = Target(Evidence(root=str(root)))
    with runs.opened(target) as run:
        run.save("before.json", {"packages": state.packages_of(made_view("debian12").installation), "files": {}})
        run.add_plan({"steps": []})
        runs.begin(run)
    return target, run


def rollback(target):
    view = made_view("debian12")
    return Rollback(target, lambda: view, 5, lambda _: None, lambda: True, lambda _: None)


def refused(target, match):
    before = sorted(os.walk(target.path))
    with pytest.raises(HostagentError, match=match):
        rollback(target).perform()
    assert sorted(os.walk(target.path)) == before


@pytest.mark.parametrize("name", FILES)
def test_no_forged_file_of_the_state_before_is_restored(name, image):
    target, run = image
    run.save("before.json", {"packages": {}, "files": FILES[name]})
    refused(target, r"before\.json cannot be used")


@pytest.mark.parametrize("name", PACKAGES)
def test_no_forged_package_is_taken_back(name, image):
    target, run = image
    run.save("before.json", {"packages": PACKAGES[name], "files": {}})
    refused(target, r"before\.json cannot be used")


@pytest.mark.parametrize("name", PLANS)
def test_no_forged_plan_is_undone_and_nothing_beside_its_files_is_removed(name, image):
    target, run = image
    run.save("plan.json", PLANS[name])
    refused(target, r"plan\.json cannot be used")
    clear_half_written(target, run)
    assert summary_of(run).changes == "its plan cannot be read"


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("file", ["before.json", "after.json", "undo.json", "plan.json"])
def test_a_file_of_a_run_that_is_none_is_a_sentence(file, name, image):
    target, run = image
    run.note("end", outcome="failed")
    with open(f"{run.path}/{file}", "wb") as stream:
        stream.write(TEXTS[name])
    refused(target, rf"{file} cannot be used")


@pytest.mark.parametrize("file", ["before.json", "after.json", "undo.json", "plan.json"])
def test_a_pipe_in_the_place_of_a_file_keeps_nobody(file, image):
    target, run = image
    run.note("end", outcome="failed")
    run.forget(file)
    os.mkfifo(f"{run.path}/{file}")
    refused(target, rf"{file}: found no file")


def test_what_is_kept_for_a_rollback_that_goes_on_is_looked_at_too(image):
    target, run = image
    for kept in ({"packages": ["../x"], "files": []}, {"packages": [], "files": ["/a/../b"]}, {"packages": "x", "files": []}):
        run.save("undo.json", kept)
        refused(target, r"undo\.json cannot be used")


def test_a_copy_that_is_no_file_keeps_nobody(image):
    target, run = image
    os.mkdir(f"{run.path}/copies")
    os.mkfifo(f"{run.path}/copies/{'a' * 64}")
    before = {**state.files_of(target, ["/etc/a"]), "/etc/a": state.Entry(*GOOD)}
    (problem,) = put_back(target, run, before)
    assert problem.startswith("/etc/a: found something that is not a file")
    assert os.listdir(f"{target.path}/etc") == []


def test_a_forged_line_of_the_journal_ends_nothing(image):
    _, run = image
    for at in ("x", None, [1], 10**400, -1, float("inf"), True):
        with open(f"{run.path}/journal.jsonl", "w", encoding="utf-8") as stream:
            stream.write(json.dumps({"event": "begin", "at": at}) + "\n")
        assert summary_of(run).began == 0.0
        clear_half_written(*image)


@pytest.mark.parametrize("name", TEXTS)
def test_a_journal_or_a_token_that_is_none_is_empty(name, image):
    target, run = image
    for file in ("journal.jsonl", runs.TOKEN):
        with open(f"{run.path}/{file}", "wb") as stream:
            stream.write(TEXTS[name])
    assert (run.journal(), run.token, runs.to_undo(target).state, summary_of(run).ended) == ((), "", "begun", "did not end")
    clear_half_written(target, run)
    run.note("end", outcome="done")
    assert [one["event"] for one in run.journal()] == ["end"]


def test_a_journal_longer_than_any_is_a_sentence_and_is_not_read(image):
    target, run = image
    os.truncate(f"{run.path}/journal.jsonl", 4 * 1024 * 1024 + 1)
    refused(target, r"runs/1/journal\.jsonl cannot be read: found more than 4194304 bytes")
    assert unfinished(target.place) == ((), ())
    clear_half_written(target, run)


def test_a_token_that_is_long_or_no_file_is_nobodys(image):
    _, run = image
    token = run.new_token()
    assert run.token == token
    with open(f"{run.path}/{runs.TOKEN}", "ab") as stream:
        stream.write(b" " * 256)
    assert run.token == ""
    run.forget(runs.TOKEN)
    os.mkdir(f"{run.path}/{runs.TOKEN}")
    assert run.token == ""


@pytest.mark.parametrize("place", ["", "/runs", "/runs/1", "/runs/7", "/runs/.new"])
def test_a_file_in_the_place_of_a_directory_of_the_runs_is_a_sentence(place, image):
    target, _ = image
    path = f"{target.path}/var/lib/hostagent{place}"
    shutil.rmtree(path, ignore_errors=True)
    os.mknod(path, 0o600)
    for use in (runs.runs, runs.newest, runs.to_continue, runs.to_undo):
        with pytest.raises(HostagentError, match=rf"{path}: found a file, wanted a directory of a run"):
            use(target)
    assert unfinished(target.place) == ((), ())


def test_a_directory_in_the_place_of_a_journal_is_a_sentence(image):
    target, run = image
    run.forget("journal.jsonl")
    os.mkdir(f"{run.path}/journal.jsonl")
    refused(target, r"runs/1/journal\.jsonl: found a directory, wanted a file of a run")
    with pytest.raises(HostagentError, match="found something that is not a file"):
        run.journal()


@pytest.mark.parametrize("name", [["a"], 5, None, "-o", "../x"])
def test_what_was_held_is_named_by_the_key_that_was_looked_at(name, image):
    target, run = image
    package = {key: value for key, value in {**PACKAGE, "held": True, "name": name}.items() if value is not None}
    run.save("before.json", {"packages": {"a:amd64": package, "a:i386": package}, "files": {}})
    run.save("plan.json", {"steps": [write_step("/etc/x")]})
    assert unfinished(target.place) == (("x",), ("a",))


def test_a_run_whose_packages_were_not_read_at_its_end_is_taken_back(image):
    target, run = image
    run.save("after.json", {"packages": None, "files": {}})
    run.note("end", outcome="failed")
    assert state_of(run, "after.json")["packages"] is None
    assert plan_rollback(target, run, made_view("debian12")).packages.is_empty


def test_what_a_run_writes_is_read_back(image):
    target, run = image
    os.mknod(f"{target.path}/etc/a", 0o600)
    os.symlink("a b", f"{target.path}/etc/link")
    os.mkfifo(f"{target.path}/etc/pipe")
    os.mkdir(f"{target.path}/etc/Ünï \udcff")
    files = state.files_of(target, ["/opt/none/x"])
    packages = state.packages_of(made_view("debian12").installation)
    run.save("before.json", {"packages": packages, "files": state.as_json(files), "without_copy": []})
    found = state_of(run, "before.json")
    assert (state.from_json(found["files"]), found["packages"]) == (files, packages)
