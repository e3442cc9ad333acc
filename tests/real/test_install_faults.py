"""What forbids an installation, and what goes wrong in one: each fault in a real root, with real apt and dpkg.

None of these tests runs in a process of its own: hostagent does, and those that are refused share a root.
"""

import json
import shutil
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest

from tests.real.conftest import need_real
from tests.real.installing import TOOLKIT, Host, changed, kill_tree, served
from tests.real.installroots import STUB, clone, place, tree
from tests.trees.boards import hgx_a100

ONLY = ("--only", "toolkit")
NOTHING = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def clones():
    """One root for all tests that leave it as it was."""
    need_real("mmdebstrap", "sudo bash tests/real/install.sh")
    with place() as where:
        yield [where, None, {}]


@pytest.fixture
def root(clones):
    where, made, _ = clones
    if made is None:
        made = clones[1] = clone("debian", where)
        clones[2] = tree(made.path)
    yield made
    if changed(clones[2], tree(made.path)):
        shutil.rmtree(made.path)
        clones[1] = None


def refused(host, *words, **environment):
    """The ids of what refuses, where nothing at all has changed."""
    before = tree(host.root.path)
    done = host.call("install", "--yes", "--format", "json", *words, **environment)
    assert changed(before, tree(host.root.path)) == []
    assert done.returncode == 4, done.stdout[-1500:] + done.stderr[-1500:]
    return [one["id"] for one in json.loads(done.stdout)["refusals"]]


@contextmanager
def published(root, name, unwanted=None, **more):
    root.publish(name, unwanted, **more)
    try:
        yield
    finally:
        root.publish(name)


@contextmanager
def written(root, path, text):
    file = root.path / path
    had = file.read_text() if file.exists() else None
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    try:
        yield
    finally:
        if had is None:
            file.unlink()
        else:
            file.write_text(had)


_HOLD = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()"


@contextmanager
def locked(root, path):
    """By another process: whoever closes a file loses its own locks on it."""
    command = [sys.executable, "-c", _HOLD, str(root.path / path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        holder.stdout.readline()
        yield
        holder.stdin.close()


def without(name, version=""):
    return lambda found, at: found == name and at.startswith(version)


REPOSITORIES = {
    "bad signature": ({"key": "wrong"}, "plan.repository-signature"),
    "SHA-1": ({"digest": "SHA1"}, "plan.repository-weak-key"),
    "missing version": ({"unwanted": lambda _, version: version.startswith("1.19.0")}, "plan.toolkit-missing"),
    "incomplete set": ({"unwanted": without("libnvidia-container1", "1.19.0")}, "plan.toolkit-missing"),
}


@pytest.mark.parametrize("name", REPOSITORIES)
def test_a_repository_that_cannot_be_used_refuses(root, name):
    more, wanted = REPOSITORIES[name]
    with published(root, "toolkit", **more):
        assert refused(Host(root), *ONLY) == [wanted]


@pytest.mark.parametrize("mode", ["down", "gone"])
def test_a_repository_that_does_not_answer_refuses(root, mode):
    host = Host(root)
    with ExitStack() as stack:
        url = NOTHING if mode == "down" else stack.enter_context(served(root.path / STUB, mode))
        host.profile.write_text(host.profile.read_text().replace(f"file:/{STUB}/toolkit", f"{url}/toolkit"))
        assert refused(host, *ONLY) == ["plan.repository-unreachable"]


def test_a_driver_set_that_is_not_whole_refuses_at_its_exact_version_and_a_branch_takes_the_newest_whole_one(root):
    with published(root, "cuda", without("libnvidia-ml1", "580.178.04")):
        assert refused(Host(root, more="driver: {install: '580.178.04'}\n"), "--only", "driver") != []
        code, plan = Host(root).plan("--only", "driver")
    assert code == 0
    assert {one["to"] for one in plan["packages"] if one["origin"] == "cuda"} == {"580.159.03-1"}


@pytest.mark.parametrize(
    ("path", "text", "wanted"),
    [
        ("etc/apt/preferences.d/mine", "Package: nvidia-container-toolkit*\nPin: version 1.18.*\nPin-Priority: 1001\n", "plan.pin"),
        ("usr/lib/os-release", "ID=flatcar\nNAME=Flatcar\n", "plan.distribution"),
        ("usr/lib/os-release", "ID=arch\nNAME=Arch\n", "plan.distribution"),
        ("usr/bin/nvidia-uninstall", "#!/bin/sh\n", "plan.runfile"),
    ],
)
def test_what_the_host_has_forbids_it(root, path, text, wanted):
    only = ONLY if "preferences" in path else ()
    with written(root, path, text):
        (root.path / path).chmod(0o755)
        found = refused(Host(root), *only)
    assert found == [wanted]


def test_no_headers_refuse(root):
    with published(root, "archive", without(f"linux-headers-{root.kernel}")):
        root.apt("update")
        assert refused(Host(root), "--only", "driver") == ["plan.headers-missing"]
    root.apt("update")


def test_a_lock_that_is_held_too_long_refuses(root):
    with locked(root, "var/lib/dpkg/lock-frontend"):
        done = Host(root, install="lock_timeout_s: 1").install(*ONLY)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "/var/lib/dpkg/lock-frontend" in done.stdout + done.stderr


def test_a_before_that_fails_refuses(root):
    before = tree(root.path)
    done = Host(root, install="before: [['sh', '-c', 'echo not drained >&2; exit 3']]").install(*ONLY)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "not drained" in done.stdout + done.stderr
    assert changed(before, tree(root.path)) == []


def test_an_empty_install_refuses(root):
    assert refused(Host(root, more="driver: {install: ''}\n")) == ["plan.install-empty"]


def test_a_second_origin_refuses(make_root):
    root = make_root("debian")
    root.apt("install", "libcuda1=535.261.03-1~deb12u1", "libnvidia-ml1=535.261.03-1~deb12u1")
    assert refused(Host(root, install="origin: cuda"), "--only", "driver")


def test_too_little_space_refuses(root):
    host = Host(root)
    boot = root.path / "boot"
    mount = f"cp -a {boot} /tmp/boot-$$ && mount -t tmpfs -o size=20m tmpfs {boot} && cp -a /tmp/boot-$$/. {boot} && rm -r /tmp/boot-$$"
    command = ["unshare", "--mount", "sh", "-c", f'{mount} && exec "$@"', "sh", *host.command("install", "--yes", "--only", "driver")]
    before = tree(root.path)
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert "/boot" in done.stdout
    assert changed(before, tree(root.path)) == []


def test_a_made_tree_that_stands_for_a_live_host_is_refused(tmp_path):
    hgx_a100(tmp_path / "made")
    profile = tmp_path / "profile.yaml"
    profile.write_text("schema_version: '1.3'\nname: made\ntoolkit: {version: '>=1.20.0', install: '1.20.0'}\n")
    command = [sys.executable, "-m", "hostagent", "install", "--yes", "--host-root", str(tmp_path / "made"), "--profile", str(profile)]
    before = tree(tmp_path / "made")
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 4, done.stdout + done.stderr
    assert changed(before, tree(tmp_path / "made")) == []


def completed(host, *words):
    """A second run, once what was wrong is mended, leaves the host as planned."""
    again = host.install(*words)
    assert again.returncode == 0, again.stdout[-2000:] + again.stderr[-2000:]
    assert host.todo(*words) == []


def test_a_postinst_that_fails_is_named_with_its_last_line_and_a_second_run_completes(make_root):
    root = make_root("debian")
    host = Host(root)
    root.switch("nvidia-container-toolkit-base", "fail")
    done = host.install(*ONLY)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "nvidia-container-toolkit-base" in done.stdout + done.stderr
    assert "was made to fail" in done.stdout + done.stderr
    root.switch("nvidia-container-toolkit-base", "")
    completed(host, *ONLY)


def test_a_postinst_that_says_0_and_builds_nothing_is_a_failure_and_a_second_run_completes(make_root):
    root = make_root("debian")
    host = Host(root)
    root.switch("nvidia-kernel-open-dkms", "lie")
    done = host.install("--only", "driver")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "driver.modules" in done.stdout + done.stderr
    root.switch("nvidia-kernel-open-dkms", "")
    completed(host, "--only", "driver")


def test_a_file_system_that_fills_up_midway_is_a_failure_and_a_second_run_completes(make_root):
    root = make_root("debian")
    host = Host(root)
    full = root.path / "etc/nvidia-container-toolkit"
    full.mkdir()
    command = ["unshare", "--mount", "sh", "-c", f'mount -t tmpfs -o nr_inodes=1 tmpfs {full} && exec "$@"', "sh"]
    done = subprocess.run([*command, *host.command("install", "--yes", *ONLY)], capture_output=True, text=True, timeout=200, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "No space left on device" in done.stderr
    completed(host, *ONLY)


def test_of_two_at_once_the_second_changes_nothing(make_root):
    root = make_root("debian")
    host = Host(root, install="lock_timeout_s: 1")
    root.switch("nvidia-container-toolkit-base", "8")
    first = host.start("install", "--yes", *ONLY)
    try:
        journal = root.path / "var/lib/hostagent/runs/1/journal.jsonl"
        until = time.monotonic() + 60
        while not journal.exists() and time.monotonic() < until:
            time.sleep(0.1)
        second = host.install(*ONLY)
        assert second.returncode == 5, second.stdout + second.stderr
        assert f"(pid {first.pid})" in second.stderr
    finally:
        said, _ = first.communicate(timeout=120)
    assert first.returncode == 0, said
    assert host.runs() == ["1"]


def test_a_hold_on_an_old_version_is_lifted_and_put_back(make_root):
    root = make_root("debian")
    root.use_repositories()
    root.apt("install", *(f"{name}=1.18.2-1" for name in TOOLKIT))
    root.run("apt-mark", "hold", *TOOLKIT)
    host = Host(root)
    completed(host, *ONLY)
    assert {root.packages()[name] for name in TOOLKIT} == {"hi 1.19.0-1"}


def test_a_hold_that_a_killed_run_has_lifted_is_put_back_though_the_profile_asks_for_none(make_root):
    root = make_root("debian")
    root.use_repositories()
    root.apt("install", *(f"{name}=1.18.2-1" for name in TOOLKIT))
    root.run("apt-mark", "hold", "libnvidia-container1")
    host = Host(root, install="hold: false")
    process = host.start("install", "--yes", *ONLY)
    assert any("] toolkit.hold: " in line for line in process.stdout)
    kill_tree(process)
    process.stdout.close()
    completed(host, *ONLY)
    found = root.packages()
    assert {name: found[name] for name in TOOLKIT} == {
        name: f"{'hi' if name == 'libnvidia-container1' else 'ii'} 1.19.0-1" for name in TOOLKIT
    }


def test_partial_versions_become_one(make_root):
    root = make_root("debian")
    root.use_repositories()
    root.apt("install", "nvidia-container-toolkit-base=1.18.2-1", "libnvidia-container1=1.20.0-1")
    host = Host(root)
    completed(host, *ONLY)
    assert {root.packages()[name] for name in TOOLKIT} == {"hi 1.19.0-1"}


def test_an_interrupted_dpkg_is_step_one(make_root):
    root = make_root("debian")
    root.use_repositories()
    root.switch("nvidia-container-toolkit-base", "fail")
    done = root.run("apt-get", "-y", "-q", "install", *(f"{name}=1.19.0-1" for name in TOOLKIT), check=False)
    assert done.returncode == 100
    root.switch("nvidia-container-toolkit-base", "")
    host = Host(root)
    assert host.todo(*ONLY)[0] == "repositories.repair"
    completed(host, *ONLY)
