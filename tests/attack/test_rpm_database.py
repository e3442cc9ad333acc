"""Whoever writes a package database can make it unread, and can do nothing else."""

import os
import re
import shutil
import subprocess
import sys
import time

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.packages.read_rpm import read_rpm
from hostagent.engine.questions import live_backend
from hostagent.profiles import profile
from hostagent.sandbox import landlock
from tests.attack import rpmdb, spaces
from tests.judged import judged
from tests.real import rpms
from tests.real.conftest import need_real
from tests.trees.tree import Tree

pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounts of its own need root: run the tests as root"),
]
OURS = {name for name, *_ in rpms.RPMS if name != "zlib"}


def unread(source):
    found = read_rpm(source)
    assert isinstance(found, Unread), found
    return found


@pytest.mark.parametrize("way", rpmdb.WAYS)
def test_a_healthy_database_is_read(way, tmp_path):
    found = read_rpm(rpmdb.read_by(way, rpmdb.installed(tmp_path), tmp_path))
    assert {one.name for one in found} == OURS


@pytest.mark.parametrize("way", rpmdb.WAYS)
@pytest.mark.parametrize("hidden", ["rpmdb.sqlite", "rpmdb.sqlite-wal", "."])
def test_a_healthy_database_that_only_root_may_read_is_read(hidden, way, tmp_path):
    database = rpmdb.installed(tmp_path)
    source = rpmdb.read_by(way, database, tmp_path)
    (database / "rpmdb.sqlite-wal").touch()
    (database / hidden).chmod(0o700)
    assert {one.name for one in read_rpm(source)} == OURS


@pytest.mark.parametrize("way", ["host-root copied", "host-root in place"])
def test_an_rpm_that_somebody_else_may_change_is_not_run(way, tmp_path):
    """A copy is read by this machine's."""
    source = rpmdb.read_by(way, rpmdb.installed(tmp_path), tmp_path)
    theirs = tmp_path / "rpm"
    shutil.copy("/usr/bin/rpm", theirs)
    theirs.chmod(0o777)
    spaces.mount(str(theirs), str(tmp_path / "host/usr/bin/rpm"), "", rpmdb.MS_BIND)
    if way.endswith("in place"):
        assert "rpm is not run" in unread(source).detail
    else:
        assert {one.name for one in read_rpm(source)} == OURS


@pytest.mark.parametrize("way", rpmdb.WAYS)
@pytest.mark.parametrize("form", rpmdb.BROKEN)
def test_a_damaged_database_is_unread(form, way, tmp_path):
    database = rpmdb.installed(tmp_path)
    rpmdb.change(database, *rpmdb.BROKEN[form])
    assert unread(rpmdb.read_by(way, database, tmp_path)).why == "error"


@pytest.mark.parametrize("way", rpmdb.WAYS)
@pytest.mark.parametrize("instead", ["directory", "fifo", "device", "rest", "nothing"])
def test_what_is_no_database_is_unread(instead, way, tmp_path):
    database = rpmdb.installed(tmp_path)
    file = database / "rpmdb.sqlite"
    half = file.read_bytes()[: file.stat().st_size // 2]
    file.unlink()
    {
        "directory": file.mkdir,
        "fifo": lambda: os.mkfifo(file),
        "device": lambda: os.mknod(file, 0o20666, os.makedev(1, 3)),
        "rest": lambda: file.write_bytes(half),
        "nothing": file.touch,
    }[instead]()
    assert unread(rpmdb.read_by(way, database, tmp_path)).why == "error"


@pytest.mark.parametrize("way", ["image", "host-root copied", "live copied"])
@pytest.mark.parametrize("name", ["rpmdb.sqlite-wal", "Packages", "Index.db"])
def test_a_part_that_is_no_file_is_not_passed_over(name, way, tmp_path):
    database = rpmdb.installed(tmp_path)
    source = rpmdb.read_by(way, database, tmp_path)
    (database / name).mkdir()
    assert f"{name} is a dir, wanted a file" in unread(source).detail


@pytest.mark.parametrize("way", rpmdb.WAYS)
@pytest.mark.parametrize("form", rpmdb.HEAVY)
def test_a_database_that_takes_long_or_much_is_unread_in_time(form, way, tmp_path):
    database = rpmdb.installed(tmp_path)
    rpmdb.change(database, *rpmdb.HEAVY[form])
    source = rpmdb.read_by(way, database, tmp_path, seconds=1.5)
    started = time.monotonic()
    found = unread(source)
    assert time.monotonic() - started < 3
    assert found.why in ("error", "timeout")
    if form == "a view of gigabytes":
        assert "out of memory" in found.detail


def test_no_package_of_a_damaged_image_reads_as_not_installed(tmp_path):
    tree = Tree(tmp_path / "root", kernel="6.8.0", driver="580.95.05")
    tree.write("/etc/os-release", 'ID="rhel"\nVERSION_ID="9.6"\n')
    tree.remove("/var/lib")
    shutil.copytree(rpmdb.installed(tmp_path), tree.root / "var/lib/rpm")
    rpmdb.change(tree.root / "var/lib/rpm", *rpmdb.BROKEN["a header that is none"])
    report = judged(live_backend(str(tree.root), "image"), profile.load(site_file=""))
    asked = {"driver.package_set_equal", "toolkit.installed", "driver.package_origin", "toolkit.packages_equal"}
    assert {one.outcome for one in report.findings if one.id in asked} == {"unknown"}
    assert report.verdict.single_node not in ("ready", "degraded")


def test_holes_cost_nothing(tmp_path):
    """Six files of 500 MiB without a byte in them, and some of terabytes."""
    database = rpmdb.installed(tmp_path)
    for number in range(6):
        rpmdb.sparse(database / f"more{number}", 500 << 20)
    for name in ("Packages", "Packages.db", "Index.db"):
        rpmdb.sparse(database / name, 4 << 40)
    started = time.monotonic()
    assert {one.name for one in read_rpm(rpmdb.read_by("image", database, tmp_path))} == OURS
    assert time.monotonic() - started < 5


def test_what_is_written_has_a_limit(tmp_path):
    database = rpmdb.installed(tmp_path)
    block = os.urandom(1 << 20)
    with open(database / "Packages", "wb") as stream:
        for number in range(1025):
            stream.seek(number << 21)  # a hole of 1 MiB between two
            stream.write(block)
    assert "more than 1024 MiB are written" in unread(rpmdb.read_by("image", database, tmp_path)).detail


@pytest.mark.parametrize("way", rpmdb.WAYS)
def test_a_journal_that_names_a_file_to_delete_is_not_obeyed(way, tmp_path):
    database = rpmdb.installed(tmp_path)
    victim = tmp_path / "victim"
    victim.write_text("x")
    rpmdb.add_journal(database, victim)
    source = rpmdb.read_by(way, database, tmp_path)
    read_rpm(source)
    assert victim.exists()
    rpmdb.change(database, "select count(*) from Packages")
    assert not victim.exists(), "SQLite itself does as it is told, so this journal is one"


#: What rpm could do and see, said by a shell in its place; its --dbpath is the second argument.
SPY = r"""
echo "files $(ls -A "$2" | tr '\n' ' ')"
echo "ids $(id -u) $(id -g) $(id -G)"
grep -E '^(NoNewPrivs|CapEff|CapPrm|CapBnd):' /proc/self/status
grep -E '^Max (address space|file size|processes|core file size)' /proc/self/limits
echo "networks $(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \n')"
for place in /tmp /var/tmp /dev/shm /run /etc "$2"; do (echo x > "$place/hostagent-was-here") 2>/dev/null && echo "writes $place"; done
echo "place $2 $(stat -f -c %T "$2")"
(echo x >> "$2/rpmdb.sqlite") 2>/dev/null && echo "changes its copy"
echo "mounts $(grep -c ' - tmpfs hostagent ' /proc/self/mountinfo)"
"""


@pytest.mark.parametrize("way", rpmdb.WAYS)
def test_rpm_is_nobody_and_reaches_nothing_but_the_database(way, tmp_path):
    database = rpmdb.installed(tmp_path)
    for name in ("rpmdb.sqlite-journal", "DB_CONFIG", "__db.001", "Name"):
        (database / name).touch()
    source = rpmdb.read_by(way, database, tmp_path)
    rpmdb.with_program("rpm", SPY, tmp_path)
    if way.startswith("host-root"):
        spaces.mount("/usr/bin/rpm", str(tmp_path / "host/usr/bin/rpm"), "", rpmdb.MS_BIND)
    answer = source.run("rpm", "--dbpath", "/var/lib/rpm", "-qa")
    assert answer.exit_code == 0, answer.stderr
    said = dict(line.partition(" ")[::2] for line in re.sub(r"[:\t]+", " ", answer.stdout).splitlines() if not line.startswith("Max"))
    user, group, groups = said["ids"].split()
    assert int(user) > 65534
    assert user == group == groups
    assert (said["NoNewPrivs"].strip(), int(said["CapEff"], 16), int(said["CapPrm"], 16)) == ("1", 0, 0)
    limits = dict(re.findall(r"Max ([a-z ]+?) {2,}(\d+) ", answer.stdout))
    assert limits == {"address space": str(512 << 20), "file size": str(64 << 20), "processes": "16", "core file size": "0"}
    assert said["networks"] == "lo"
    assert "changes" not in said
    written = re.findall(r"^writes (.*)$", answer.stdout, re.MULTILINE)
    if way.endswith("in place"):
        assert written == []
        assert said["mounts"] == "0"
        return
    place, kind = said["place"].split()
    assert set(said["files"].split()) == {"rpmdb.sqlite"}
    assert (kind, said["mounts"]) == ("tmpfs", "1")
    assert set(written) == {place}
    with open("/proc/self/mountinfo", encoding="utf-8") as stream:
        assert " - tmpfs hostagent " not in stream.read(), "nobody else sees it"


def test_an_image_with_berkeley_db_needs_no_index(tmp_path):
    """The database of RHEL 8: a hash of headers, and an index that is a file of its own and is not copied."""
    load = need_real("db5.3_load", "apt-get install db5.3-util")
    database = rpmdb.installed(tmp_path)
    rpmdb.become_berkeley(database, load)
    source = rpmdb.read_by("image", database, tmp_path)
    assert {one.name for one in read_rpm(source)} == OURS
    form = "[%{FILENAMES}\\t%{=NAME}\\n]"
    answer = source.run("rpm", "--dbpath", "/var/lib/rpm", "-q", "--queryformat", form, "nvidia-driver-cuda-libs")
    assert answer.stdout == f"{rpms.LIBRARY}\tnvidia-driver-cuda-libs\n"


_CONFINED = """
import sys
from hostagent.sandbox.confinement import confine
confine(0, 5, sys.argv[1])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("CapEff")))
open(sys.argv[1] + "/journal", "w").close()
try:
    open(sys.argv[2], "w").close()
    print("written")
except PermissionError:
    print("refused")
"""


def test_root_who_may_become_nobody_else_reads_with_no_capability_and_writes_next_to_the_copies_alone(tmp_path):
    """As in a container that has SYSLOG and SYS_CHROOT alone."""
    (tmp_path / "copies").mkdir()
    rights = ("--bounding-set=-all,+syslog,+sys_chroot", "--inh-caps=-all", "--no-new-privs")
    argv = ["setpriv", *rights, sys.executable, "-c", _CONFINED, tmp_path / "copies", tmp_path / "elsewhere"]
    done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0000000000000000", "refused" if landlock.version() else "written"]
