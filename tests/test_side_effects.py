"""A check creates, changes and deletes nothing but its state file and a lock per lane, and ends on time whatever hangs."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests import stub_nvml, stub_verbs
from tests.attack.livehost import enliven
from tests.attack.spaces import mount
from tests.children import until
from tests.real.conftest import need_real

HOSTAGENT = str(Path(sys.executable).with_name("hostagent"))
#: Where a driver, a package manager or an agent would leave something.
WATCHED = ("/dev", "/etc", "/run", "/var/lib", "/boot", "/lib/modules")
#: Files other programs of a running machine write at any time.
NOISE = ("/dev/pts", "/dev/shm", "/run/hostagent")

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="device nodes and chroot need root: run the tests as root")


@pytest.fixture
def tree(tmp_path):
    need_real("gcc", "apt-get install gcc libc6-dev")
    root = tmp_path / "host"
    for place in ("proc/sys/kernel", "sys/devices"):
        (root / place).mkdir(parents=True)
    return root


def inventory(roots):
    """Every path below `roots` with what a change would change: kind, size, time of change, device."""
    found = {}
    for root in roots:
        for folder, _, names in os.walk(root):
            for name in ("", *names):
                path = os.path.join(folder, name) if name else folder
                try:
                    stat = os.lstat(path)
                except OSError:
                    continue
                found[path] = (stat.st_mode, stat.st_size, stat.st_mtime_ns, stat.st_rdev, stat.st_uid)
    return found


def check(*arguments, timeout=60):
    started = time.monotonic()
    completed = subprocess.run(
        [HOSTAGENT, "check", "--profile", "default", *arguments], capture_output=True, text=True, check=False, timeout=timeout
    )
    assert "Traceback" not in completed.stderr, completed.stderr
    assert completed.returncode in (0, 1)
    return completed, time.monotonic() - started


def test_a_check_of_a_mounted_host_leaves_every_file_as_it_was(tree):
    stub_nvml.install(tree, 4)
    stub_verbs.install(tree, {"mlx5_0": 1})
    before = inventory([tree])
    check("--host-root", str(tree))
    assert inventory([tree]) == before


@pytest.mark.alone
def test_a_check_of_a_live_host_as_root_makes_locks_that_are_roots_alone_and_nothing_else(tree):
    """Of a mounted one: this machine has no driver. A made tree, as above, gets none."""
    stub_nvml.install(tree, 1)
    stub_verbs.install(tree, {"mlx5_0": 1})
    enliven(tree)
    mount("none", str(tree / "sys/class"), "tmpfs")
    stub_verbs.write(tree / "sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n")
    (tree / "run").mkdir()
    own = [path for path in tree.iterdir() if path.name not in ("proc", "sys")]
    before = inventory(own)
    check("--host-root", str(tree))
    after = inventory(own)
    changed = {path.removeprefix(str(tree)) for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {"/run", "/run/hostagent", "/run/hostagent/nvidia.lock", "/run/hostagent/rdma.lock"}
    for lane in ("nvidia", "rdma"):
        lock = tree / f"run/hostagent/{lane}.lock"
        assert (lock.stat().st_mode & 0o777, lock.stat().st_uid, lock.read_bytes()) == (0o600, 0, b"")


def test_nvml_that_would_create_device_nodes_is_not_called_without_a_module(tree):
    stub_nvml.install_library(tree)
    stub_nvml.write_table(tree, stub_nvml.addresses(1), "Init * mknod /dev/nvidiactl\n")
    (tree / "dev").mkdir(exist_ok=True)
    before = inventory([tree])
    check("--host-root", str(tree))
    assert inventory([tree]) == before


def test_a_check_of_this_machine_as_root_writes_its_state_file_and_nothing_else(tmp_path, monkeypatch):
    for variable in ("TMPDIR", "HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))

    def quiet():
        return {path: facts for path, facts in inventory(WATCHED).items() if not path.startswith(NOISE)}

    before = quiet()
    check("--save-state")
    after = quiet()
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    # A directory whose only change is a neighbour's noise has another time and no other entries.
    assert changed - {"/run", "/dev"} == set()
    assert list(tmp_path.iterdir()) == []
    assert os.path.exists("/run/hostagent/state.json")


def test_a_partial_check_and_one_of_another_host_write_no_state(tree):
    """In a mount namespace of its own: other tests on this machine write the real state file."""
    need_real("unshare", "apt-get install util-linux")
    no_gpu = Path(__file__).parent / "hosts/no-gpu-vm"
    arguments = ("--only os", f"--host-root {tree}", f"--from {no_gpu}")
    checks = "; ".join(f"{HOSTAGENT} check {one} >/dev/null" for one in (*arguments,))
    script = f"mkdir -p /run/hostagent; mount -t tmpfs none /run/hostagent; {checks}; ls -A /run/hostagent; echo then; {HOSTAGENT} check >/dev/null; ls -A /run/hostagent"
    shown = subprocess.run(["unshare", "-m", "/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (shown.stdout, shown.stderr) == ("then\nstate.json\n", "")


def test_a_run_by_another_profile_leaves_the_hosts_own_verdict(tree):
    """A person who looks at the host by another profile must not tell the schedulers."""
    need_real("unshare", "apt-get install util-linux")
    checks = "; ".join(
        f"{HOSTAGENT} check {one} >/dev/null; ls -A /run/hostagent; echo then"
        for one in ("--profile tao-7.1", "--profile tao-7.1 --save-state")
    )
    script = f"mkdir -p /run/hostagent; mount -t tmpfs none /run/hostagent; {checks}"
    shown = subprocess.run(["unshare", "-m", "/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert (shown.stdout, shown.stderr) == ("then\nstate.json\nthen\n", "")


def test_a_check_beside_a_daemon_writes_no_state_and_says_so():
    """In a mount namespace of its own, where a process holds what a daemon holds."""
    need_real("unshare", "apt-get install util-linux")
    holder = "import sys, time; from hostagent.engine.report import daemon_lock as daemonlock; print(daemonlock.take('/run/hostagent') is not None, flush=True); time.sleep(50)"
    check = f"{HOSTAGENT} check --save-state >/dev/null"
    script = f"""mkdir -p /run/hostagent; mount -t tmpfs -o mode=0755 none /run/hostagent
    {sys.executable} -c "{holder}" > /run/hostagent/began & holder=$!
    until grep -qs True /run/hostagent/began; do sleep 0.05; done; rm /run/hostagent/began
    {check}; ls /run/hostagent | grep json || echo none; kill $holder; wait $holder; {check}; ls /run/hostagent | grep json"""
    shown = subprocess.run(["unshare", "-m", "/bin/sh", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert shown.stdout == "none\nstate.json\n"
    assert (
        shown.stderr.replace("Terminated\n", "") == "Warning: no state written to /run/hostagent/state.json: found a daemon that keeps it\n"
    )


@pytest.mark.parametrize(
    "arguments", [["--only", "os"], ["--root", "/"], ["--from", str(Path(__file__).parent / "hosts/no-gpu-vm")]], ids=" ".join
)
def test_a_state_that_could_not_be_the_hosts_own_is_refused(arguments):
    refused = subprocess.run([HOSTAGENT, "check", "--save-state", *arguments], capture_output=True, text=True, check=False, timeout=60)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "found --save-state" in refused.stderr


def left_behind(tree):
    """Processes of a check of `tree` (each argument of the command line stands in its worker's too)."""
    return [one.pid for one in psutil.process_iter(["cmdline"]) if str(tree) in (one.info["cmdline"] or ())]


def test_a_library_that_never_answers_costs_its_deadline_is_named_and_leaves_no_child(tree):
    stub_nvml.install(tree, 2, {"DeviceGetTemperature 1": "hang"})
    answer, took_s = check("--host-root", str(tree), "-v")
    assert "nvmlDeviceGetTemperature 1" in answer.stdout
    assert took_s < 8
    assert until(lambda: left_behind(tree) == [])


def test_a_card_that_never_answers_costs_its_own_answers_and_no_gpus(tree):
    stub_nvml.install(tree, 2)
    stub_verbs.install(tree, {"mlx5_0": 1, "mlx5_1": 1}, "query mlx5_1:1 hang")
    answer, took_s = check("--host-root", str(tree), "--format", "json")
    facts = json.loads(answer.stdout)["facts"]
    assert [one["name"] for one in facts["gpus"]] == ["NVIDIA H100 80GB HBM3"] * 2
    ports = {one["name"]: one for one in facts["fabric"]["rdma"]}
    assert (ports["mlx5_0"]["state"], ports["mlx5_1"]["state"], ports["mlx5_0"]["active_mtu"]) == ("ACTIVE", "ACTIVE", 4096)
    assert ports["mlx5_1"]["active_mtu"]["unread"] == "timeout"
    assert took_s < 8
    assert left_behind(tree) == []


def test_a_card_and_nvml_that_both_hang_cost_one_deadline_each(tree):
    stub_nvml.install(tree, 2, {"DeviceGetTemperature 1": "hang"})
    stub_verbs.install(tree, {"mlx5_0": 1}, "open mlx5_0 hang")
    answer, took_s = check("--host-root", str(tree), "--format", "json")
    facts = json.loads(answer.stdout)["facts"]
    assert [one["name"] for one in facts["gpus"]] == ["NVIDIA H100 80GB HBM3"] * 2
    assert facts["fabric"]["rdma"][0]["state"] == "ACTIVE"
    assert took_s < 8
    assert left_behind(tree) == []


def test_fifos_in_place_of_files_and_a_command_that_never_ends_cost_little(tree):
    stub_nvml.install(tree, 1)
    stub_verbs.install(tree, {"mlx5_0": 1})
    for name in (
        "sys/module/nvidia/version",
        "sys/class/infiniband/mlx5_0/ports/1/state",
        "etc/os-release",
        "var/lib/dpkg/status",
        "etc/containerd/config.toml",
        "etc/modprobe.d/x.conf",
    ):
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        os.mkfifo(path)
    answer, took_s = check("--host-root", str(tree))
    assert "is a fifo, wanted a file" in " ".join(answer.stdout.split())
    assert took_s < 8
    assert left_behind(tree) == []


def test_the_deadline_of_the_run_is_kept_and_named(tree):
    stub_nvml.install(tree, 2, {"Init *": "hang"})
    answer, took_s = check("--host-root", str(tree), "--deadline", "1")
    assert took_s < 1 + 3
    assert "deadline" in answer.stdout or "no answer" in answer.stdout


@pytest.mark.parametrize("lane", ["nvidia", "rdma"])
def test_two_runs_beside_a_hanging_driver_do_not_pile_up(tree, lane):
    stub_nvml.install(tree, 1, {"DeviceGetName 0": "hang"} if lane == "nvidia" else {})
    stub_verbs.install(tree, {"mlx5_0": 1}, "open mlx5_0 hang" if lane == "rdma" else "")
    running = [subprocess.Popen([HOSTAGENT, "check", "--host-root", str(tree)], stdout=subprocess.DEVNULL) for _ in range(3)]
    assert all(one.wait(30) == 1 for one in running)
    assert until(lambda: left_behind(tree) == [])
