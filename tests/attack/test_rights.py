"""What each process has a right to, as the kernel says it, beside the table of docs/security.md."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from hostagent.domains.network.tables.numbers import JOB_PORTS
from hostagent.engine.target import Evidence, open_host
from hostagent.sandbox import least_privileges
from tests.attack import fuse, spaces
from tests.children import until
from tests.real.daemonrun import Daemon
from tests.trees.tree import Tree

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0 or not os.path.exists("/dev/fuse"), reason="FUSE needs root and /dev/fuse: 'modprobe fuse'"),
]
PAGE = Path(__file__).parents[2] / "docs/security.md"
#: Bits of capabilities(7).
BITS = {
    "CHOWN": 0,
    "DAC_OVERRIDE": 1,
    "DAC_READ_SEARCH": 2,
    "KILL": 5,
    "SETGID": 6,
    "SETUID": 7,
    "SYS_CHROOT": 18,
    "SYS_PTRACE": 19,
    "SYS_ADMIN": 21,
    "SYSLOG": 34,
}
#: Of who reads a live host.
LIVE = "CHOWN, DAC_READ_SEARCH, KILL, SETGID, SETUID, SYS_ADMIN, SYS_CHROOT, SYSLOG, SYS_PTRACE"
ROW = re.compile(r"^\| (?P<part>[^|]+) \| [^|]+ \| (?P<capabilities>[^|]+) \| (?P<gains>yes|no) \| (?P<filter>yes|no) \|", re.MULTILINE)


class Rights(NamedTuple):
    capabilities: int
    gains_none: bool
    is_filtered: bool


def status(pid="self"):
    rows = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
    assert rows["CapEff"] == rows["CapPrm"]
    return Rights(int(rows["CapEff"], 16), rows["NoNewPrivs"] == "1", rows["Seccomp"] == "2")


def table():
    """By the first words of a part."""
    said = {}
    for row in ROW.finditer(PAGE.read_text()):
        names = row["capabilities"].replace("those of who reads a live host, and", f"{LIVE},")
        bits = status().capabilities if "caller" in names else sum(1 << BITS[one] for one in names.split(", ") if one != "none")
        said[row["part"]] = Rights(bits, row["gains"] == "yes", row["filter"] == "yes")
    return said


def part(beginning):
    (found,) = [rights for name, rights in table().items() if name.startswith(beginning)]
    return found


def descendants(pid):
    for name in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        yield int(name)
        yield from descendants(name)


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path / "host", kernel="6.8.0", driver="580.95.05")
    made.write("/sys/module/x", "")
    made.write("/etc/os-release", "ID=ubuntu\nVERSION_ID=24.04\n")
    made.write("/proc/sys/kernel/osrelease", "6.8.0\n")
    return made


@pytest.fixture
def held(tree):
    """The tree, whose question about packages hangs; what a command's processes have while it does."""
    spaces.unshare("mount")
    place = tree.at("/usr/lib/sysimage/rpm")
    place.mkdir(parents=True)
    mounted = fuse.Mounted(str(place))

    def run(*arguments):
        argv = [sys.executable, "-m", "hostagent", *arguments]
        with subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as command:
            mounted.take_one()
            rights = [status(pid) for pid in (command.pid, *descendants(command.pid))]
            command.kill()
        mounted.close()
        return rights

    return run


def test_who_reads_an_image_may_read_and_nothing_else(held, tree):
    own, *others = held("check", "--root", str(tree.root))
    assert own == part("each command")
    assert sorted(others) == sorted([part("reading process of an image"), part("runner")])


def test_who_reads_a_live_host_has_what_that_takes(held, tree):
    own, *others = held("check", "--host-root", str(tree.root))
    assert own == part("each command")
    assert part("reading process of a live") in others
    workers = ("each worker", "worker that asks libnvidia-ml", "worker that asks the kernel")
    assert set(others) <= {part("reading process of a live"), *map(part, workers)}


def publisher_of(daemon):
    assert until(lambda: daemon.answers("/livez"), 20)
    first, *_ = descendants(daemon.process.pid)
    return first


def test_the_publisher_has_no_right(tree, tmp_path):
    with Daemon(tmp_path, "--host-root", tree.root, "--kubernetes", "off") as daemon:
        assert status(publisher_of(daemon)) == part("publisher: HTTP")
        assert status(daemon.process.pid) == part("each command")


def test_a_publisher_that_runs_a_program_of_the_kubeconfig_has_no_right_either(tree, tmp_path):
    """And the program runs."""
    shows = tmp_path / "credential"
    shows.write_text(f"#!/bin/sh\ncat /proc/self/status >{tmp_path}/seen\n")
    shows.chmod(0o755)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(shows)}}
    config = {
        "current-context": "a",
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:9"}}],
        "users": [{"name": "a", "user": user}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    (tmp_path / "config").chmod(0o600)
    with Daemon(tmp_path, "--host-root", tree.root, "--kubeconfig", tmp_path / "config") as daemon:
        assert status(publisher_of(daemon)) == part("publisher, where")
        assert until((tmp_path / "seen").exists, 20)
        assert until(lambda: "CapEff:\t0000000000000000" in (tmp_path / "seen").read_text(), 5)


def in_child(act):
    """What it answers in a process of its own, or what it raises."""
    ours, theirs = os.pipe()

    def run():
        try:
            os.write(theirs, repr(act()).encode())
        except Exception as error:
            os.write(theirs, repr(error).encode())

    os.waitpid(spaces.start(run), 0)
    return os.read(ours, 4096).decode()


@pytest.mark.parametrize(
    ("beginning", "act"), [("worker that asks the kernel", least_privileges.network_worker), ("fetcher", least_privileges.fetcher)]
)
def test_the_short_lived_give_up_the_same(beginning, act):
    assert in_child(lambda: [act(), tuple(status())][1]) == repr(tuple(part(beginning)))


@pytest.mark.parametrize("allowed", [False, True])
def test_the_publisher_writes_where_its_files_are_and_nowhere_else(tmp_path, allowed):
    """Also not into a file that is there, and root's."""
    for name in ("own", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "there").write_text("before")
    folder = tmp_path / ("own" if allowed else "other")

    def act():
        least_privileges.publisher([str(tmp_path / "own")], runs_programs=False)
        for name in ("there", "new"):
            (folder / name).write_text("after")
        (folder / "new").rename(folder / "there")

    in_child(act)
    assert (folder / "there").read_text() == ("after" if allowed else "before")
    assert not (folder / "new").exists()


def test_who_reads_an_image_reads_nothing_beside_it(tmp_path):
    (tmp_path / "image").mkdir()
    (tmp_path / "image/file").write_text("inside")
    (tmp_path / "secret").write_text("outside")

    def reads(path):
        def act():
            least_privileges.image_reader(str(tmp_path / "image"))
            return path.read_text()

        return in_child(act)

    assert reads(tmp_path / "image/file") == "'inside'"
    assert "PermissionError" in reads(tmp_path / "secret")


def test_a_textfile_s_directory_that_comes_later_is_written_to(tree, tmp_path):
    """What may be written is settled at the start: the publisher begins anew."""
    late = tmp_path / "late"
    with Daemon(tmp_path, "--host-root", tree.root, "--kubernetes", "off", "--interval", "5", "--textfile", late / "x.prom") as daemon:
        publisher_of(daemon)
        time.sleep(1)
        late.mkdir()
        assert until((late / "x.prom").exists, 20)


def test_the_publisher_changes_no_mode_and_reaches_no_socket_of_root_s(tmp_path):
    """Landlock sees neither. A mode with the set-user-ID bit, or the socket of a container runtime, would make it root again."""
    (tmp_path / "program").write_text("")
    with socket.socket(socket.AF_UNIX) as listening, socket.create_server(("127.0.0.1", 0)) as network:
        listening.bind(str(tmp_path / "socket"))
        listening.listen()

        def tries():
            least_privileges.publisher([str(tmp_path)], runs_programs=False)
            opened = os.open(tmp_path / "program", os.O_RDONLY)
            for act in (
                lambda: os.chmod(tmp_path / "program", 0o4755),
                lambda: os.fchmod(opened, 0o4755),
                lambda: os.utime(tmp_path / "program"),
                lambda: socket.socket(socket.AF_UNIX).connect(str(tmp_path / "socket")),
                lambda: os.kill(os.getppid(), 0),
            ):
                try:
                    act()
                except PermissionError:
                    continue
                return "it could"
            socket.create_connection(network.getsockname()).close()
            return "refused"

        assert in_child(tries) == "'refused'"


def test_whose_sockets_are_is_seen_with_the_rights_that_are_left(tmp_path):
    """Of another user's process, too."""
    with Busy() as port, open_host(Evidence(), ["Network"]) as reading:
        reading.collect()
        assert [port, "python3"] in [[number, name[:7]] for number, name in reading.answers[("network", "listeners")]]


class Busy:
    """Somebody else's program that listens on a port that jobs want."""

    def __enter__(self):
        port = next(iter(sorted(JOB_PORTS)))
        code = "import os, socket, sys; os.setuid(65534); s = socket.create_server(('127.0.0.1', int(sys.argv[1]))); print(1, flush=True); sys.stdin.read()"
        self.process = subprocess.Popen(["python3", "-c", code, str(port)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdout.readline()
        return port

    def __exit__(self, *_):
        self.process.communicate()
