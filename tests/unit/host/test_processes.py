"""Processes: what is read of a command line is bounded before anything looks at it, and is what the program was told."""

import os
import subprocess
import time
from unittest import mock

import psutil
import pytest

from hostagent import snapshot
from hostagent.engine.collection import InProcess
from hostagent.engine.questions import live_backend
from hostagent.host import processes as reading
from hostagent.host import recording
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.process import Host, Process, parse_arguments
from hostagent.host.processes import processes

KIB = 1024
SERVICES = {
    "nvidia-persistenced": "nvidia-persistenced.service",
    "containerd": "containerd.service",
    "kubelet": "kubelet.service",
    "k3s": "k3s.service",
}


def host(root, *daemons):
    """A directory that looks like a host on which systemd runs `daemons`: (pid, name, bytes of the command line, state)."""
    (root / "sys").mkdir()
    for pid, name, cmdline, state in ((1, "systemd", b"/sbin/init\0", "S"), *daemons):
        directory = root / f"proc/{pid}"
        directory.mkdir(parents=True)
        place = "init.scope" if pid == 1 else f"system.slice/{SERVICES[name]}"
        (directory / "comm").write_text(f"{name[:15]}\n")
        (directory / "stat").write_text(f"{pid} ({name[:15]}) {state} 1 1 1 0 -1" + " 0" * 13 + " 2000" + " 0" * 30 + "\n")
        (directory / "status").write_text(f"Uid:\t0\t0\t0\t0\nNSpid:\t{pid}\n")
        (directory / "cgroup").write_text(f"0::/{place}\n")
        (directory / "cmdline").write_bytes(cmdline)
    (root / "proc/stat").write_text("cpu 1\nbtime 1700000000\n")
    return Root(str(root))


def bytes_read():
    with open("/proc/self/io", encoding="ascii") as stream:
        return int(stream.readline().split()[1])


def arguments_of(pid):
    """Of a process that was just started: it gets its command line a moment later."""
    until = time.monotonic() + 10
    while time.monotonic() < until:
        if argv := Process(Host(Root()), pid, "nv-fabricmanager").argv:
            return argv
    raise AssertionError(f"process {pid} is not seen")


@pytest.mark.parametrize("name", ["containerd", "nvidia-persistenced"])
def test_of_a_process_at_most_64_arguments_of_4_kib_are_read(tmp_path, name):
    """Also of one whose name the kernel cut."""
    arguments = [f"/usr/bin/{name}", "x" * 100_000, "--last", *["y" * 5000] * 2000]
    root = host(tmp_path, (7, name, "".join(f"{one}\0" for one in arguments).encode(), "S"))
    processes(root)
    before = bytes_read()
    (row,) = processes(root)
    assert bytes_read() - before < 512 * KIB
    assert (row["name"], row["argv"][0], row["argv"][2]) == (name, f"/usr/bin/{name}", "--last")
    assert (row["argv"][1], row["argv"][3]) == ("x" * 4 * KIB, "y" * 4 * KIB)


def test_a_process_that_takes_the_number_of_another_is_none(tmp_path):
    """The name was read of the one, all else of the other."""
    root = host(tmp_path, (7, "containerd", b"containerd\0", "S"))

    def looked_at(process, ask=reading._rows_of):
        rows = list(ask(process))
        (tmp_path / "proc/7/comm").write_text("sh\n")
        return rows

    with mock.patch.object(reading, "_rows_of", looked_at):
        assert processes(root) == []


def test_of_many_arguments_the_first_64_are_read(tmp_path):
    (row,) = processes(host(tmp_path, (7, "containerd", b"containerd\0" + b"-v\0" * 100_000, "S")))
    assert row["argv"] == ["containerd", *["-v"] * 63]


def test_a_running_program_with_a_long_command_line_is_read_alike(tmp_path):
    os.symlink("/bin/sh", tmp_path / "nv-fabricmanager")
    argv = [str(tmp_path / "nv-fabricmanager"), "-c", "read x", *["z" * 20_000] * 50, *["-v"] * 500]
    with subprocess.Popen(argv, stdin=subprocess.PIPE) as program:
        try:
            found = arguments_of(program.pid)
        finally:
            program.kill()
    assert (found[:3], len(found) <= 64) == (argv[:3], True)
    assert max(map(len, found)) == 4 * KIB


def test_a_process_that_ended_is_none(tmp_path):
    assert processes(host(tmp_path, (7, "containerd", b"", "Z"), (8, "kubelet", b"", "S"))) == [
        {"pid": 8, "name": "kubelet", "argv": [], "started_at": pytest.approx(1700000020.0), "unit": "kubelet.service"}
    ]


@pytest.mark.parametrize(
    "cmdline",
    [
        b"containerd\0-c\0/a b.toml\0",
        b"/usr/bin/containerd\0",
        b"containerd\0--x\0\0",
        b"k3s agent",
        b"k3s agent\0",
        b"k3s agent ",
        b"a\xffb\0",
        b"",
        b"\0",
    ],
)
def test_a_command_line_is_split_as_psutil_splits_it(tmp_path, cmdline):
    """But for what is not UTF-8, which psutil keeps as half characters that no file can hold."""
    host(tmp_path, (7, "containerd", cmdline, "S"))
    procfs, psutil.PROCFS_PATH = psutil.PROCFS_PATH, str(tmp_path / "proc")
    try:
        wanted = psutil.Process(7).cmdline()
    finally:
        psutil.PROCFS_PATH = procfs
    assert parse_arguments(cmdline) == [word.encode("utf-8", "surrogateescape").decode("utf-8", "replace") for word in wanted]


@pytest.mark.parametrize("redact", [True, False])
def test_a_check_sees_a_command_line_as_it_is_and_a_snapshot_keeps_where_the_configuration_is(tmp_path, redact):
    said = b"containerd\0--config=/etc/c.toml\0--token\0K10abc\0-t\0K10def\0--header=Bearer eyJhbGciOi\0"
    root = host(tmp_path, (7, "containerd", said, "S"))
    raw = ["containerd", "--config=/etc/c.toml", "--token", "K10abc", "-t", "K10def", "--header=Bearer eyJhbGciOi"]
    assert [row["argv"] for row in processes(root)] == [raw]
    recorded = snapshot.record(InProcess(live_backend(root.path, "host-root")), b"k" * 32, redact=redact)
    assert [row["argv"] for row in recorded.answers["processes"]["json"]] == [["--config=/etc/c.toml"]]
    assert not any(secret in recording.dumps(recorded) for secret in ("K10", "eyJ"))


def test_names_of_a_kernels_own_proc_are_those_that_a_careful_look_finds(monkeypatch):
    """As they stand in a made tree, where each is looked at before it is opened."""
    monkeypatch.setattr(reading, "NAMES", Everything())
    root, files = Root("/"), Files(Root("/"))

    def look():
        return {(int(pid), name) for pid in os.listdir("/proc") if pid.isdigit() and (name := reading._name(files, pid))}

    before, found, after = look(), set(reading._candidates(root, files)), look()
    lasting = {(pid, name) for pid, name in before & after if not name.startswith("kworker/")}  # named by what they work on now
    assert lasting <= found
    assert os.getpid() in dict(lasting)
    monkeypatch.setattr(os, "read", mock.Mock(side_effect=ProcessLookupError))
    monkeypatch.setattr(reading, "_name", lambda *_: "looked at")
    assert set(dict(reading._candidates(root, files)).values()) == {"looked at"}


class Everything(dict):
    """Each name is one of the table's."""

    def get(self, name, default=None):
        return name


def test_of_an_environment_the_search_path_alone_is_read(tmp_path):
    root = host(tmp_path, (7, "containerd", b"/usr/bin/containerd\0--address\0/run/x.sock\0", "S"), (8, "nvidia-persistenced", b"x\0", "S"))
    for pid in (7, 8):
        (tmp_path / f"proc/{pid}/environ").write_bytes(b"TOKEN=hunter2\0PATH=/opt/x/bin:/usr/bin\0MY_PATH=/hunter2\0")
    runtime, other = processes(root)
    assert (runtime["path"], runtime["address"]) == ("/opt/x/bin:/usr/bin", "/run/x.sock")
    assert "path" not in other
    assert "hunter2" not in str((runtime, other))
