"""The state file and the profile files that it lists: what became of them since the verdict."""

import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hostagent.engine.report import state
from hostagent.profiles import files, profile
from tests.attack import spaces
from tests.unit.reports import judgement, report

BOOT_ID = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))


@pytest.fixture
def site(tmp_path):
    path = tmp_path / "profile.yaml"
    path.write_text("gpus: {count: 8}\n")
    return path


@pytest.fixture
def judged(tmp_path):
    """Saves a fresh verdict by the profile files that `profile.load` read; gives the state file's path."""

    def judged(site, name=""):
        now = time.time()
        fresh = replace(report(judgement(outcome="pass")), observed_at=now, valid_until=now + 600, boot_id=BOOT_ID)
        path = str(tmp_path / "state.json")
        state.save(fresh, profile.load(name, site_file=str(site)).files, path)
        return path

    return judged


def told(path):
    """The text, the document and the exit code of ``status``, whose both forms exit alike."""
    text, document = (
        subprocess.run([HOSTAGENT, "status", "--state-file", path, *form], capture_output=True, text=True, timeout=20, check=False)
        for form in ((), ("--format", "json"))
    )
    assert (text.stderr, document.stderr, text.returncode) == ("", "", document.returncode)
    return text.stdout, json.loads(document.stdout), text.returncode


def changes(path):
    return dict(state.read(path, time.time()).profile_changes())


def test_the_state_file_lists_the_profile_files_with_their_digests(judged, site):
    listed = json.loads(Path(judged(site)).read_text(encoding="utf-8"))["profile_files"]
    assert listed == [{"path": file, "sha256": digest} for file, digest in profile.load(site_file=str(site)).files]
    assert [one["path"] for one in listed] == ["built-in:default", str(site)]
    assert all(len(one["sha256"]) == 64 for one in listed)


def test_profile_files_that_are_as_they_were_are_not_spoken_of(judged, site):
    path = judged(site)
    site.write_text(site.read_text(encoding="utf-8"))
    text, document, code = told(path)
    assert "profile file" not in text
    assert (document["profile_changed"], code) == ({}, 0)


def edit(site):
    site.write_text("gpus: {count: 4}\n")


def remove(site):
    site.unlink()


def make_a_pipe(site):
    site.unlink()
    os.mkfifo(site)


def make_a_directory(site):
    site.unlink()
    site.mkdir()


def make_a_dangling_link(site):
    site.unlink()
    site.symlink_to("nowhere")


def make_it_huge(site):
    site.write_bytes(b"#" * (files.MAX_BYTES + 1))


@pytest.mark.parametrize(
    ("change", "word", "line"),
    [
        (edit, "changed", "{site} has changed since: run 'hostagent check' again"),
        (remove, "gone", "{site} has gone since: run 'hostagent check' again"),
        (make_a_pipe, "unreadable: found something that is not a file, wanted a file", "so whether it changed since is not known"),
        (make_a_directory, "unreadable: found something that is not a file, wanted a file", "so whether it changed since is not known"),
        (make_a_dangling_link, "unreadable: no such file or directory", "so whether it changed since is not known"),
        (make_it_huge, "unreadable: found more than 262144 bytes", "so whether it changed since is not known"),
    ],
)
def test_a_profile_file_that_is_another_one_now_is_named_and_the_verdict_stands(judged, site, change, word, line):
    path = judged(site)
    change(site)
    text, document, code = told(path)
    assert document["profile_changed"] == {str(site): word}
    assert line.format(site=site) in text
    assert (code, document["placeable"]) == (0, True)


def test_a_site_file_that_was_written_after_the_verdict_is_named(judged, tmp_path):
    site = tmp_path / "later.yaml"
    path = judged(site)
    assert changes(path) == {}
    site.write_text("gpus: {count: 8}\n")
    text, document, code = told(path)
    assert (document["profile_changed"], code) == ({str(site): "appeared"}, 0)
    assert f"profile file {site} has appeared since: run 'hostagent check' again" in text


def test_a_parent_that_changed_is_named(judged, tmp_path, site):
    parent = tmp_path / "parent.yaml"
    parent.write_text("gpus: {count: 8}\n")
    site.write_text("extends: parent.yaml\n")
    path = judged(site)
    parent.write_text("gpus: {count: 4}\n")
    assert changes(path) == {str(parent): "changed"}


def test_a_built_in_profile_that_an_upgrade_changed_or_took_away_is_named(judged, site):
    path = judged(site)
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    data["profile_files"] = [
        {"path": "built-in:default", "sha256": "0" * 64},
        {"path": "built-in:tao-1.0", "sha256": "0" * 64},
    ]
    Path(path).write_text(json.dumps(data), encoding="utf-8")
    assert changes(path) == {"built-in:default": "changed", "built-in:tao-1.0": "gone"}


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: run the tests as root")
def test_a_site_file_that_only_root_may_read_is_not_unchanged_for_others(judged, site, tmp_path):
    spaces.reachable(tmp_path)
    site.chmod(0o600)
    found = state.read(judged(site), time.time())
    os.seteuid(65534)
    try:
        told = dict(found.profile_changes())
    finally:
        os.seteuid(0)
    assert told == {str(site): "unreadable: permission denied"}


def test_a_state_file_that_lists_no_profile_files_claims_nothing_about_them(judged, site):
    path = judged(site)
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    del data["profile_files"]
    Path(path).write_text(json.dumps(data), encoding="utf-8")
    text, document, code = told(path)
    assert (document["profile_changed"], code) == (None, 0)
    assert "does not say which profile files" in text


def test_no_verdict_has_no_profile_files(tmp_path):
    _, document, code = told(str(tmp_path / "none"))
    assert (document["profile_changed"], code) == (None, 1)


@pytest.mark.parametrize(
    "listed",
    [
        5,
        None,
        {},
        ["x"],
        [{}],
        [{"path": "/x"}],
        [{"path": 5, "sha256": ""}],
        [{"path": "/x", "sha256": None}],
        [{"path": "/x", "sha256": ""}] * 65,
    ],
)
def test_a_list_of_profile_files_that_is_none_is_damage(judged, site, listed):
    path = judged(site)
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    Path(path).write_text(json.dumps({**data, "profile_files": listed}), encoding="utf-8")
    text, document, code = told(path)
    assert (text.partition(":")[0], code, document["profile_changed"]) == ("UNKNOWN", 1, None)


@pytest.mark.parametrize("name", ["/x\0", "/\ud800", "", "built-in:", "built-in:../../x", "/dev/zero", "/" + "x" * 5000])
def test_a_name_of_no_profile_file_is_never_unchanged(judged, site, name):
    path = judged(site)
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    Path(path).write_text(json.dumps({**data, "profile_files": [{"path": name, "sha256": "0" * 64}]}), encoding="utf-8")
    assert set(changes(path)) == {name}


def test_status_reads_profile_files_without_yaml(judged, site):
    path = judged(site)
    edit(site)
    code = f"""
import sys; sys.argv = ['hostagent', 'status', '--state-file', {path!r}]
from hostagent.cli import cli
try: cli(standalone_mode=False)
except SystemExit: pass
print([name for name in sys.modules if name.startswith(('hostagent.engine.collect', 'hostagent.host', 'hostagent.profiles.profile', 'yaml'))])
"""
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "has changed since" in printed
    assert printed.splitlines()[-1] == "[]"
