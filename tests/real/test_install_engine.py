"""The engine alone, with a made plan, in a real root: what it writes, how it ends, what a kill leaves, and the way back.

Real: Ansible, ansible-runner, chroot, mounts, locks, processes. Made: the plan, whose three steps need no package manager.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hostagent.engine.target import Evidence
from hostagent.install import runs
from hostagent.install.target import Target
from tests.real.conftest import need_module
from tests.real.installroots import clone, place, tree

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="chroot and mount need root")]
INSIDE = Path(__file__).with_name("engine_inside.py")
SECRET = "planted-password"
CHANGED = {"etc/made", "etc/made/one.conf", "etc/made/cri.conf"}


@pytest.fixture
def root():
    need_module("ansible_runner", "pip install -e '.[dev]'")
    with place() as where:
        yield clone("debian", where)


def start(root, *words, lock=30):
    environment = {**os.environ, "https_proxy": f"http://bob:{SECRET}@127.0.0.1:9"}
    return subprocess.Popen(
        [sys.executable, INSIDE, root.path, str(lock), *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def install(root, *words, lock=30):
    out, err = start(root, *words, lock=lock).communicate(timeout=120)
    assert out, err
    return json.loads(out)


def rollback(root, *words):
    done = subprocess.run(
        [sys.executable, "-m", "hostagent", "rollback", "--yes", "--root", str(root.path), *words],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def begun(root):
    """How often the program of the second step has begun."""
    path = root.path / "var/begun"
    return len(path.read_text().splitlines()) if path.exists() else 0


def wait_for_program(root):
    ends = time.monotonic() + 60
    while not begun(root):
        assert time.monotonic() < ends
        time.sleep(0.05)


def descendants(pid):
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += descendants(int(child))
    return found


def differing(old, new):
    return {path for path in {*old, *new} if old.get(path) != new.get(path)}


def test_a_plan_is_carried_out_once_and_taken_back(root):
    before = tree(root.path, "etc", "usr/sbin")
    first = install(root, "runtime")
    assert first == {"word": "done", "code": 0, "message": "", "run": 1}
    assert (root.path / "etc/made/one.conf").read_text() == "value = {{ 1 + 1 }}\n"  # no template
    after = tree(root.path, "etc", "usr/sbin")
    assert differing(before, after) == CHANGED
    assert after["etc/made/one.conf"][0] & 0o777 == 0o640
    folder = root.path / "var/lib/hostagent"
    assert folder.stat().st_mode & 0o077 == 0
    assert {path.stat().st_mode & 0o077 for path in (folder / "runs/1").iterdir()} == {0}
    assert install(root, "runtime")["word"] == "nothing"
    assert begun(root) == 1
    assert rollback(root)[0] == 0
    assert differing(before, tree(root.path, "etc", "usr/sbin")) == set()
    assert "no run that was not undone" in rollback(root)[1]


def test_no_password_of_a_proxy_stays(root):
    install(root)
    assert (
        subprocess.run(["grep", "-rlI", SECRET, root.path, "/run/hostagent-install"], capture_output=True, text=True, check=False).stdout
        == ""
    )


def test_what_a_killed_run_left_under_way_is_waited_for_and_what_it_did_is_not_done_again(root):
    first = start(root, "sleep=6")
    wait_for_program(root)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    assert install(root, lock=0)["code"] == 5  # never beside it
    assert install(root)["word"] == "nothing"
    assert begun(root) == 1
    assert runs.newest(Target(Evidence(root=str(root.path)))).state == "done"


def test_a_run_that_was_killed_with_all_that_it_started_is_completed_and_taken_back(root):
    before = tree(root.path, "etc", "usr/sbin")
    first = start(root, "sleep=20")
    wait_for_program(root)
    assert (root.path / "usr/sbin/policy-rc.d").exists()
    for pid in descendants(first.pid):
        with contextlib.suppress(ProcessLookupError):  # it has died with its parent
            os.kill(pid, signal.SIGKILL)
    first.communicate()
    assert install(root) == {"word": "done", "code": 0, "message": "", "run": 1}
    assert not (root.path / "usr/sbin/policy-rc.d").exists()
    assert begun(root) == 2
    assert rollback(root)[0] == 0
    assert differing(before, tree(root.path, "etc", "usr/sbin")) == set()


def test_of_two_at_once_one_says_so(root):
    first = start(root, "sleep=4")
    wait_for_program(root)
    assert install(root, lock=0)["code"] == 5
    assert json.loads(first.communicate(timeout=60)[0])["code"] == 0


def test_a_program_that_fails_is_named_with_its_last_line_and_a_second_run_completes(root):
    first = install(root, "fail")
    assert (first["code"], first["message"]) == (1, "repositories.repair: no compiler")
    assert install(root) == {"word": "done", "code": 0, "message": "", "run": 1}


def test_an_exit_code_is_not_trusted(root):
    first = install(root, "lie")
    assert first["code"] == 1
    assert first["message"].startswith("repositories.repair: ")
    assert first["message"].endswith("wanted /var/made is there")


def test_a_file_that_its_runtime_refuses_is_put_back(root):
    old = root.path / "etc/made/cri.conf"
    old.parent.mkdir()
    old.write_text("old\n")
    assert install(root, "reject")["code"] == 1
    assert old.read_text() == "old\n"


def test_a_failing_program_before_the_first_change_leaves_the_tree_as_it_was(root):
    before = tree(root.path)
    refused = install(root, "before")
    assert (refused["code"], refused["message"]) == (4, "install.before: /bin/sh exited 7: node-1 is busy")
    assert differing(before, tree(root.path)) == set()


def test_a_failing_program_after_the_last_change_is_a_failed_run(root):
    assert install(root, "after")["message"] == "install.after: /bin/sh exited 7: node-1 is busy"


def test_a_link_leads_nowhere_outside_the_root(root, tmp_path):
    inside = root.path / str(tmp_path).lstrip("/")
    (root.path / "etc/away").symlink_to(tmp_path)
    refused = install(root, "link")
    assert (refused["code"], "found /etc/away, a link that leads nowhere" in refused["message"]) == (4, True)
    inside.mkdir(parents=True)
    assert install(root, "link")["code"] == 0
    assert list(tmp_path.iterdir()) == []
    assert [one.name for one in inside.iterdir()] == ["linked.conf"]


def test_a_file_that_somebody_changed_since_stays_and_is_named(root):
    install(root, "runtime")
    (root.path / "etc/made/one.conf").write_text("mine\n")
    code, told = rollback(root)
    assert code == 1
    assert "/etc/made/one.conf" in told
    assert (root.path / "etc/made/one.conf").read_text() == "mine\n"
    assert not (root.path / "etc/made/cri.conf").exists()
