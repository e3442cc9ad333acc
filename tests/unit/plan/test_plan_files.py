"""What a plan says about files: diffs that apply, names where there is no text, no secrets."""

import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.plan.files import changed_files, names, unified
from hostagent.plan.model import Key, Remove, Write
from tests.plan_fakes import step
from tests.plan_hosts import made_view

TOML = """\
version = 2
[plugins."io.containerd.grpc.v1.cri".registry.configs."r".auth]
  username = "svc"
  password = "hunter2hunter2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
"""
ADDED = '[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]\n  runtime_type = "io.containerd.runc.v2"\n'
CONFIG = "/etc/containerd/config.toml"


def host(path=CONFIG, text=TOML):
    file = {"path": path, "text": text, "mode": 0o644, "uid": 0, "gid": 0}
    return made_view(installation={"files": [file]})


def changed(view, *operations):
    return changed_files(view, [step(do=operations)])


def test_a_new_file_is_all_additions():
    absent = {"unread": "absent", "detail": "no such file"}
    (found,) = changed(host("/etc/a", absent), Write("/etc/a", "x = 1\n"))
    assert found.diff == "--- /dev/null\n+++ /etc/a\n@@ -0,0 +1 @@\n+x = 1\n"


def test_a_file_that_stays_as_it_is_is_not_named():
    assert changed(host(), Write(CONFIG, TOML)) == ()


def test_no_secret_of_the_file_is_shown_and_the_change_is():
    (found,) = changed(host(), Write(CONFIG, TOML + ADDED))
    assert "hunter2" not in found.diff
    assert "+[plugins" in found.diff


def test_the_address_of_a_public_key_is_shown_and_what_is_needed_to_get_there_is_not():
    (found,) = changed(host(), Write("/etc/yum.repos.d/a.repo", "[a]\ngpgkey=https://bob:hunter2@mirror/key.pub\n"))
    assert "+gpgkey=https://" in found.diff
    assert "mirror/key.pub" in found.diff
    assert "hunter2" not in found.diff


def test_a_change_of_a_secret_alone_is_named_and_not_shown():
    (found,) = changed(host(), Write(CONFIG, TOML.replace("hunter2", "hunter3")))
    assert "hunter" not in found.diff
    assert found.diff == ""
    assert found.keys


def test_a_file_whose_text_is_not_there_is_told_by_what_is_set_in_it():
    unread = {"unread": "not-recorded", "detail": "a tape has no whole file"}
    view = host(CONFIG, unread)
    (found,) = changed(view, Write(CONFIG, "", keys=("containerd.runtimes.nvidia",)))
    assert (found.diff, found.keys) == ("", ("containerd.runtimes.nvidia",))
    (found,) = changed(view, Write("/elsewhere/daemon.json", '{"runtimes": {"nvidia": {"path": "x"}}}'))
    assert found.keys == ("runtimes.nvidia.path",)
    (found,) = changed(view, Remove("/elsewhere/old.list"))
    assert found.keys == ("removed",)


def test_a_file_that_two_steps_write_is_named_once_as_it_will_be():
    (found,) = changed(host("/etc/a", "1\n"), Write("/etc/a", "2\n"), Write("/etc/a", "3\n"))
    assert "+3" in found.diff
    assert "+2" not in found.diff


def test_a_keyring_is_named_by_where_it_comes_from():
    (found,) = changed(host(), Key("/usr/share/keyrings/a.gpg", url="https://mirror/a.gpg", sha256="0" * 64))
    assert found.keys == ("keyring from https://mirror/a.gpg",)


@pytest.mark.parametrize("path", ["/etc/docker/daemon.json", CONFIG, "/etc/apt/preferences.d/a", "/etc/a.sources"])
@given(text=st.text(max_size=200))
@settings(deadline=None)
def test_any_text_has_names_or_none_and_no_end_of_line_in_them(path, text):
    assert all(name and "\n" not in name for name in names(path, text))


LINES = st.lists(st.sampled_from(["a", "b = 1", "", "[t]", "# c"]), max_size=30).map(lambda lines: "".join(f"{one}\n" for one in lines))


@given(before=LINES, after=LINES)
@settings(deadline=None, max_examples=40)
def test_git_makes_the_new_text_out_of_the_old_one(tmp_path_factory, before, after):
    folder = tmp_path_factory.mktemp("patch")
    (folder / "file").write_text(before)
    diff = unified("file", before, after)
    if diff:
        subprocess.run(["git", "apply", "-p0", "-"], cwd=folder, input=diff, text=True, check=True, timeout=60)
    assert (folder / "file").read_text() == after
