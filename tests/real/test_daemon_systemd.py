"""The shipped unit under a real systemd: it starts, is watched, goes on, stops; and its sandbox keeps the daemon from reading nothing."""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import threading
from pathlib import Path

import psutil
import pytest

from tests import stub_nvml, stub_verbs
from tests.real import installroots, rpms
from tests.real.conftest import need_real
from tests.real.daemonrun import eventually
from tests.real.machine import Machine

UNIT = Path(__file__).parents[2] / "daemonset/systemd/hostagent.service"
DROP_IN = UNIT.with_name("drop-in.conf")
#: What `systemd-analyze security` may say of the unit, of ten.
EXPOSURE = 5.1
#: What the daemon uses (capabilities(7)): dac_override and dac_read_search, kill, setgid, setuid, setpcap, sys_chroot, sys_ptrace,
#: sys_admin, syslog.
RIGHTS = sum(1 << number for number in (1, 2, 5, 6, 7, 8, 18, 19, 21, 34))
#: Elsewhere: an address that is not on loopback, though the machine has it (RFC 5737).
ELSEWHERE = "192.0.2.10"
STATE = "/run/hostagent"
#: What `hostagent check` says in the machine, in no sandbox.
OUTSIDE = """[Service]
Type=oneshot
ExecStart=/usr/local/bin/hostagent check --json
StandardOutput=truncate:/run/outside.json
StandardError=journal
SuccessExitStatus=1
"""
#: What the page says that each option takes away, as a check that then is unknown.
TAKES = {
    "ProtectClock=yes": "host.clock_synchronised",
    "ProtectKernelLogs=yes": "gpu.xid_log_complete",
    "PrivateDevices=yes": "driver.nvml_initialises",
    "DeviceAllow=/dev/null r": "driver.nvml_initialises",
}
#: Only the daemon has a history.
OF_HISTORY = {"driver.reloads", "rdma.link_flapping"}
pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="boots a machine: run 'sudo make test'")]


@pytest.fixture
def machine():
    """A Debian whose packages are rpm's, with a driver and eight GPUs."""
    need_real("mmdebstrap", installroots.HOW)
    with installroots.place() as where:
        root, made, cards = where / "root", where / "made", where / "cards"
        subprocess.run(["cp", "-a", "--reflink=auto", installroots.base() / "base", root], check=True)
        made.mkdir()
        gpus = stub_nvml.install(made, 8)
        cards.mkdir()
        stub_verbs.install(cards, {"mlx5_0": 1})
        for one in (made, cards):
            shutil.copytree(one / "usr", root / "usr", symlinks=True, dirs_exist_ok=True)
        classes(made, cards)
        packages_of_rpm(root, where / "rpm")
        found = Machine(root, ((made, "/opt/made"), (made / "sys/module", "/sys/module")))
        found.unit("hostagent.service", UNIT.read_text())
        found.unit("outside.service", OUTSIDE)
        with found.up():
            for one in ("bus/pci", "class"):
                found.run("mount", "--bind", f"/opt/made/sys/{one}", f"/sys/{one}")
            for name, major, minor in (("kmsg", 1, 11), ("nvidiactl", 195, 255), *((f"nvidia{at}", 195, at) for at in range(len(gpus)))):
                found.run("mknod", "--mode=0666", f"/dev/{name}", "c", str(major), str(minor))
            yield found


def classes(made, cards):
    """This machine's classes of devices, and an RDMA card's."""
    shutil.copytree("/sys/class", made / "sys/class", symlinks=True, ignore=lambda folder, _: ["zram-control"] * (folder == "/sys/class"))
    for name in ("infiniband_verbs", "infiniband/mlx5_0"):
        shutil.copytree(cards / "sys/class" / name, made / "sys/class" / name, symlinks=True)


def packages_of_rpm(root, place):
    """rpm with its libraries and a database in the place of dpkg's."""
    script = Path(__file__).with_name("install_rpm_root.sh")
    other = Path(need_real(f"rpm-root-{hashlib.sha256(script.read_bytes()).hexdigest()[:16]}", installroots.HOW))
    rpms.install(place)
    shutil.copytree(place / "var/lib/rpm", root / "var/lib/rpm")
    (root / "var/lib/dpkg/status").write_text("")
    needed = subprocess.run(["chroot", other, "ldd", "/usr/bin/rpm"], capture_output=True, text=True, check=True).stdout
    libraries = [line.split()[2] for line in needed.splitlines() if "=> /" in line]
    for one in ("/usr/bin/rpm", "/usr/lib/rpm", "/etc/rpm", *libraries):
        target = root / one.lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            subprocess.run(["cp", "-a", "--dereference", other / one.lstrip("/"), target], check=True)


def kernel_log_begins_at_the_boot():
    """The ring buffer of a kernel that has been up for long has lost its first lines."""
    return "Linux version" in subprocess.run(["dmesg"], capture_output=True, text=True, check=True).stdout


def state(machine):
    return json.loads(machine.inside(f"{STATE}/state.json").read_text())


def settled(machine):
    """Since when which condition is told, but for those that the next pass confirms."""
    return {one["type"]: (one["status"], one["changed_at"]) for one in state(machine)["conditions"] if one["reason"] != "FirstPass"}


def judged(report):
    return {(one["id"], one["subject"]): (one["outcome"], one["code"]) for one in report["findings"] if one["id"] not in OF_HISTORY}


def processes(machine):
    """The loop, and the teller, once no pass is on and what it started is reaped."""
    group = machine.inside("/sys/fs/cgroup/system.slice/hostagent.service/cgroup.procs")
    loop = machine.process(int(machine.shown("hostagent", "MainPID")))
    eventually(lambda: len(group.read_text().split()) == 2 and len(loop.children()) == 1)
    return loop, *loop.children()


def holds(process):
    """What it has open, and the libraries that it has loaded."""
    found = {line.split()[-1] for line in Path(f"/proc/{process.pid}/maps").read_text().splitlines()}
    for one in Path(f"/proc/{process.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            found.add(os.readlink(one))
    return found


def test_the_unit_starts_reads_all_that_a_check_reads_and_stops(machine):
    done = machine.run("systemd-analyze", "verify", "/etc/systemd/system/hostagent.service")
    assert done.stdout + done.stderr == ""
    machine.run("systemctl", "enable", "--now", "hostagent")
    assert machine.shown("hostagent", "ActiveState") == "active"
    assert f'Status: "{machine.shown("hostagent", "StatusText")}"' in machine.run("systemctl", "status", "hostagent").stdout
    assert machine.shown("hostagent", "StatusText").split(":")[0].replace(" ", "_") == state(machine)["measured"]["single_node"]
    assert "daemon" not in machine.run("hostagent", "status", check=False).stderr
    word = state(machine)["verdict"]["single_node"].replace("_", " ").upper()
    assert machine.run("hostagent", "status", check=False).stdout.startswith(word)
    assert machine.run("hostagent", "npd", "driver", check=False).returncode in (0, 1, 2)

    machine.run("systemctl", "start", "outside")
    inside, outside = (json.loads(machine.inside(path).read_text()) for path in (f"{STATE}/report.json", "/run/outside.json"))
    assert judged(inside) == judged(outside)
    assert inside["verdict"] == outside["verdict"]
    assert inside["cages"] == outside["cages"]
    assert {*inside["cages"]} == {"nvidia", "rdma"}, "both libraries of drivers were asked, each in its cage"
    assert all(one["system_calls"] and one["landlock"] and one["user"] == 65533 for one in inside["cages"].values())
    assert judged(inside)["gpu.xid_log_complete", ""][0] == ("pass" if kernel_log_begins_at_the_boot() else "warn"), (
        "the kernel log was read"
    )
    assert judged(inside)["nvswitch.unused_packages", ""][0] == "warn", "rpm was asked"
    assert machine.shown("hostagent", "DeviceAllow") == "", "a rule on one device closes all others"

    for one in processes(machine):
        assert [path for path in holds(one) if path.startswith(("/dev/nvidia", "/dev/infiniband")) or "libnvidia" in path] == []
    machine.run("flock", "--nonblock", f"{STATE}/nvidia.lock", "true")

    machine.run("systemctl", "reload", "hostagent")
    eventually(lambda: " event=reload profile=" in machine.run("journalctl", "--unit", "hostagent", "--no-pager").stdout, 20)
    assert "Ready" in machine.run("hostagent", "daemon", "history").stdout
    assert "last change" in machine.run("hostagent", "status", check=False).stdout
    assert machine.inside("/var/lib/hostagent-daemon/record.json").exists()

    machine.run("systemctl", "stop", "hostagent")
    assert [machine.shown("hostagent", name) for name in ("Result", "ExecMainCode", "ExecMainStatus")] == ["success", "1", "0"]
    assert machine.inside(f"{STATE}/state.json").exists()


def test_the_unit_is_as_closed_as_it_can_be(machine):
    """As systemd judges it, and as the kernel holds it for each process of the daemon."""
    machine.run("systemctl", "start", "hostagent")
    judged_by = machine.run("systemd-analyze", "security", "--no-pager", "hostagent").stdout
    assert float(re.search(r"Overall exposure level for hostagent.service: ([\d.]+)", judged_by)[1]) <= EXPOSURE, judged_by
    for one in processes(machine):
        status = dict(line.split(":\t", 1) for line in Path(f"/proc/{one.pid}/status").read_text().splitlines() if ":\t" in line)
        assert int(status["CapBnd"], 16) & ~RIGHTS == 0
        assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    limits = {name: int(machine.shown("hostagent", name)) for name in ("MemoryMax", "TasksMax", "LimitNOFILE")}
    for name, most in peaks(machine).items():
        assert most * 4 < limits[name], name


def peaks(machine):
    """What the daemon takes at most in a pass that reads everything: bytes, tasks, and descriptors of one process."""
    loop, _ = processes(machine)
    found, is_over = dict.fromkeys(("MemoryMax", "TasksMax", "LimitNOFILE"), 0), threading.Event()

    def look():
        while not is_over.is_set():
            now = dict.fromkeys(found, 0)
            for one in (loop, *loop.children(recursive=True)):
                with contextlib.suppress(psutil.Error, FileNotFoundError):
                    now["TasksMax"] += one.num_threads()
                    now["LimitNOFILE"] = max(now["LimitNOFILE"], one.num_fds())
                    now["MemoryMax"] += one.memory_full_info().pss
            found.update({name: max(most, now[name]) for name, most in found.items()})

    watch = threading.Thread(target=look)
    watch.start()
    try:
        before = state(machine)["observed_at"]
        machine.run("systemctl", "reload", "hostagent")
        eventually(lambda: state(machine)["observed_at"] > before, 30)
    finally:
        is_over.set()
        watch.join()
    assert found["TasksMax"] > 4, "a pass was seen, with its workers"
    return found


#: Sends a datagram to loopback, and to an address elsewhere.
_ASKS = f"""
import socket
for one in ("127.0.0.1", "{ELSEWHERE}"):
    with socket.socket(type=socket.SOCK_DGRAM) as line:
        try:
            print(one, line.sendto(b"x", (one, 9)))
        except PermissionError:
            print(one, "denied")
for family in (socket.AF_PACKET, socket.AF_VSOCK):
    try:
        socket.socket(family, socket.SOCK_DGRAM)
    except OSError as error:
        print(family.name, error.errno)
"""


def test_only_loopback_is_reached_and_whom_a_drop_in_names(machine):
    sandbox = "".join(line for line in UNIT.read_text().splitlines(keepends=True) if re.match(r"IPAddress|RestrictAddress", line))
    allowed = re.search(r"^#(IPAddressAllow=.*\n)", DROP_IN.read_text(), re.MULTILINE)[1]
    assert ELSEWHERE in allowed
    script = machine.root / "asks.py"
    script.write_text(_ASKS)
    # SIOCSIFADDR, of an alias of the loopback device: netdevice(7)
    address = "import fcntl, socket, struct; fcntl.ioctl(socket.socket(type=socket.SOCK_DGRAM), 0x8916, struct.pack('16sHH4s8x', b'lo:1', 2, 0, socket.inet_aton('%s')))"
    machine.run("/opt/venv/bin/python", "-c", address % ELSEWHERE)
    for more, said in (("", "denied"), (allowed, "1")):
        ask = "[Service]\nType=oneshot\nExecStart=/opt/venv/bin/python /asks.py\nStandardOutput=truncate:/run/asked\n"
        machine.unit("asks.service", f"{ask}{sandbox}{more}")
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "start", "asks")
        assert machine.inside("/run/asked").read_text().splitlines() == [
            "127.0.0.1 1",
            f"{ELSEWHERE} {said}",
            "AF_PACKET 97",
            "AF_VSOCK 97",
        ]


def test_a_second_daemon_waits_and_its_status_says_for_what(machine):
    machine.unit("other.service", "[Service]\nExecStart=/usr/local/bin/hostagent daemon --kubernetes off --listen ''\n")
    machine.run("systemctl", "start", "other")
    eventually(machine.inside(f"{STATE}/state.json").exists, 60)
    machine.run("systemctl", "start", "--no-block", "hostagent")
    eventually(lambda: machine.shown("hostagent", "StatusText") == f"waiting: another daemon keeps {STATE}", 60)
    assert machine.shown("hostagent", "ActiveState") == "activating"
    machine.run("systemctl", "stop", "other")
    eventually(lambda: machine.shown("hostagent", "ActiveState") == "active", 60)


def test_options_that_take_reading_away_do_so(machine):
    only = f"--json --only {','.join({*TAKES.values()})}"
    for option in ("", *TAKES):
        machine.unit("outside.service", OUTSIDE.replace("--json", only) + f"{option}\n")
        machine.run("systemctl", "daemon-reload")
        machine.run("systemctl", "start", "outside")
        found = json.loads(machine.inside("/run/outside.json").read_text())["findings"]
        assert {one["id"] for one in found if one["outcome"] == "unknown"} == ({TAKES[option]} if option else set()), option


def test_a_daemon_that_is_killed_or_hangs_is_started_again_and_goes_on(machine):
    machine.run("systemctl", "start", "hostagent")
    told, observed = settled(machine), state(machine)["observed_at"]
    assert "Ready" in told
    machine.unit("hostagent.service.d/watchdog.conf", "[Service]\nWatchdogSec=5\n")
    machine.run("systemctl", "daemon-reload")
    machine.process(int(machine.shown("hostagent", "MainPID"))).kill()
    observed = goes_on(machine, told, observed, 1)
    machine.process(int(machine.shown("hostagent", "MainPID"))).send_signal(signal.SIGSTOP)
    goes_on(machine, told, observed, 2)
    assert "Watchdog timeout (limit 5s)!" in machine.run("journalctl", "--unit", "hostagent", "--no-pager").stdout


def goes_on(machine, told, observed, restarts):
    """Started again so often, it says what it said, since when it said it, and has looked again."""
    eventually(lambda: machine.shown("hostagent", "NRestarts") == str(restarts), 60)
    eventually(lambda: machine.shown("hostagent", "ActiveState") == "active", 60)
    assert told.items() <= settled(machine).items()
    processes(machine)  # two: the teller of the one before is gone
    assert state(machine)["observed_at"] > observed
    return state(machine)["observed_at"]
