"""Space, limits, clock, reboots and locks, from a dictionary as a host."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.typed import build
from hostagent.core.unread import Unread
from hostagent.domains.system.read_machine import read_machine
from hostagent.domains.system.read_memlock import parse_limits, parse_memlock
from hostagent.domains.system.read_storage import parse_filesystem_type, read_storage
from hostagent.facts.host import Services, Unit
from hostagent.facts.platform import Platform
from hostagent.testing import host

LIVE = {
    "host": {"hostname": "n1", "boot_id": "b", "now": 5.0, "machine": "x86_64"},
    "processes": [],
    "sockets": [],
    "adjtimex": 0,
    "/var/lib/dpkg/status": "",
}


NO_PLATFORM = build(Platform, {"virtual": ""}, "", lambda field: Unread("not-recorded", field))
KNOWN = {Services: Services(()), Platform: NO_PLATFORM}


def disk(mount_id, free_inodes=9, total=100):
    return {"total_bytes": total, "free_bytes": 50, "free_inodes": free_inodes, "mount_id": mount_id}


def unit(name, text, *, exists=True):
    return Unit(name, exists, "enabled", True, False, False, text)


def read(files, units=(), kind="live", virtual=""):
    known = {Services: Services(tuple(units)), Platform: replace(NO_PLATFORM, virtual=virtual)}
    return read_machine(host({**LIVE, **files}, kind), known.__getitem__)


def filesystems(files):
    return read_storage(host({**LIVE, **files}), KNOWN.__getitem__).filesystems


def process(name, pid=7):
    return {"pid": pid, "name": name, "argv": [name], "started_at": 1.0}


def test_directories_of_one_filesystem_are_one():
    found = filesystems({"statvfs /": disk(1), "statvfs /usr": disk(1), "statvfs /var": disk(2), "statvfs /boot": disk(3)})
    assert [one.holds for one in found] == [("/", "/usr"), ("/var",), ("/boot",)]


def test_a_directory_that_is_not_there_is_left_out_and_one_that_hangs_is_not():
    found = filesystems({"statvfs /": disk(1), "statvfs /var": Unread("timeout", "statvfs")})
    assert [(one.path, one.free_bytes) for one in found] == [("/", 50), ("/var", Unread("timeout", "statvfs"))]


def test_zero_free_inodes_means_full_only_where_inodes_are_counted():
    mounts = "/dev/a / ext4 rw 0 0\n/dev/b /var btrfs rw 0 0\n"
    found = filesystems({"statvfs /": disk(1, 0), "statvfs /var": disk(2, 0), "/proc/1/mounts": mounts})
    assert found[0].free_inodes == 0
    assert found[1].free_inodes == Unread("not-supported", "btrfs does not count inodes")
    assert filesystems({"statvfs /": disk(1, 0)})[0].free_inodes.why == "error"


def test_the_running_runtime_says_what_its_containers_may_lock():
    files = {
        "processes": [process("dockerd", 5), process("containerd", 7)],
        "/proc/7/limits": "Max locked memory         8388608              unlimited            bytes     \n",
    }
    found = read(files, [unit("containerd", "LimitMEMLOCK=infinity")])
    assert (found.memlock_bytes, found.memlock_origin) == (8388608, "containerd (pid 7)")


@pytest.mark.parametrize(
    ("text", "conf", "limit", "origin"),
    [
        ("[Service]\nLimitMEMLOCK=64K\nLimitMEMLOCK=infinity", "", -1, "LimitMEMLOCK of containerd.service"),
        ("[Service]\n", "DefaultLimitMEMLOCK=1G:2G", 1 << 30, "DefaultLimitMEMLOCK of systemd"),
    ],
)
def test_a_unit_that_does_not_run_says_what_containers_will_get(text, conf, limit, origin):
    found = read({"/etc/systemd/system.conf.d/9.conf": conf}, [unit("containerd", text)])
    assert (found.memlock_bytes, found.memlock_origin) == (limit, origin)


def test_a_later_drop_in_of_the_manager_wins_and_etc_hides_usr():
    files = {
        "/etc/systemd/system.conf": "DefaultLimitMEMLOCK=1K",
        "/usr/lib/systemd/system.conf.d/10.conf": "DefaultLimitMEMLOCK=4K",
        "/etc/systemd/system.conf.d/10.conf": "DefaultLimitMEMLOCK=2K",
    }
    assert read(files, [unit("docker", "")]).memlock_bytes == 2048


def test_no_limit_anywhere_is_no_number():
    assert read({}, [unit("docker", "")]).memlock_bytes.why == "not-running"
    assert read({}, [unit("docker", "", exists=False)]).memlock_bytes.why == "absent"
    assert read({}, [unit("docker", "LimitMEMLOCK=lots")]).memlock_bytes.why == "error"


def test_a_container_without_a_runtime_says_what_it_may_lock_itself():
    files = {"/proc/1/limits": "Max locked memory         65536                65536                bytes     \n"}
    found = read(files, virtual="container")
    assert (found.memlock_bytes, found.memlock_origin) == (65536, "process 1 of this container")
    assert read(files).memlock_bytes.why == "absent", "on a host, process 1 says nothing of jobs"
    assert read(files, [unit("containerd", "LimitMEMLOCK=1M")], virtual="container").memlock_bytes == 1 << 20
    assert read({"/proc/1/limits": Unread("denied", "x")}, virtual="container").memlock_bytes.why == "denied"


def test_the_clock_and_its_daemon():
    found = read({"adjtimex": 0x2041, "processes": [process("chronyd")]})
    assert (found.clock_synchronised, found.time_daemon) == (False, "chronyd")
    assert read({}).clock_synchronised is True


WHOSE = Unread("denied", "who runs containerd (pid 7) cannot be seen with the rights of this run")


def test_a_process_that_may_be_anybodys_answers_for_no_daemon():
    found = read({"processes": [{**process("containerd"), "unit": None}], "/proc/7/limits": "Max locked memory  1  1  bytes\n"})
    assert (found.memlock_bytes, found.memlock_origin, found.daemons("containerd")) == (WHOSE, WHOSE, WHOSE)
    assert (found.daemons("kubelet"), found.time_daemon) == ((), "")


def test_beside_a_daemon_that_is_believed_others_of_its_name_do_not_count():
    found = read({"processes": [{**process("containerd"), "unit": None}, {**process("containerd", 8), "unit": "containerd.service"}]})
    assert [one.pid for one in found.daemons("containerd")] == [8]


def test_a_tape_from_before_units_were_read_is_believed():
    assert [one.unit for one in read({"processes": [process("containerd")]}).daemons("containerd")] == [""]


@pytest.mark.parametrize("unit", [7, ["containerd.service"], True])
def test_a_unit_that_is_no_text_is_an_error(unit):
    assert read({"processes": [{**process("containerd"), "unit": unit}]}).processes.why == "error"


def test_a_wanted_reboot_names_its_packages_once():
    found = read({"/run/reboot-required": "", "/run/reboot-required.pkgs": "linux-base\nlibc6\nlibc6\n"})
    assert (found.reboot_required, found.reboot_reasons) == (True, ("linux-base", "libc6"))
    assert read({}).reboot_required is False


def test_a_package_manager_that_may_not_be_looked_at_may_leave_marks():
    assert read({"/var/lib/dpkg/status": Unread("denied")}).reboot_required.why == "denied"


def test_a_distribution_without_a_reboot_mark_does_not_say_that_none_is_needed():
    files = {key: value for key, value in LIVE.items() if key[:4] != "/var"}
    assert read_machine(host(files), KNOWN.__getitem__).reboot_required.why == "not-supported"


@pytest.mark.parametrize("question", ["list /etc/systemd/system.conf.d", "read /etc/systemd/system.conf"])
def test_a_default_that_nobody_could_look_for_is_not_the_kernels(question):
    assert read({question: Unread("denied", question)}, [unit("docker", "")]).memlock_bytes == Unread("denied", question)


def test_the_package_lock_names_its_holder():
    files = {"lock_holder /var/lib/dpkg/lock-frontend": 41, "/proc/41/comm": "apt-get\n"}
    assert read(files).package_lock_holder == "apt-get (pid 41)"
    assert read({"lock_holder /var/lib/dpkg/lock": 0}).package_lock_holder == ""
    denied = Unread("denied", "lock")
    assert read({"lock_holder /var/lib/dpkg/lock-frontend": denied, "/run/zypp.pid": "9"}).package_lock_holder == denied


def test_a_pid_file_counts_while_its_process_lives():
    assert read({"/run/zypp.pid": "77", "/proc/77/comm": "zypper\n"}).package_lock_holder == "zypper (pid 77)"
    assert read({"/run/zypp.pid": "77", "/proc/77/comm": "bash\n"}).package_lock_holder == ""
    assert read({"/run/zypp.pid": "../etc"}).package_lock_holder.why == "error"


def test_a_users_process_that_has_the_number_and_the_name_holds_no_package_lock():
    files = {"/run/zypp.pid": "77", "/proc/77/comm": "zypper\n"}
    status = "Name:\tzypper\nPid:\t77\nUid:\t{}\t0\t0\t0\nGid:\t0\t0\t0\t0\n"
    assert read({**files, "/proc/77/status": status.format(0)}).package_lock_holder == "zypper (pid 77)"
    assert read({**files, "/proc/77/status": status.format(1000)}).package_lock_holder == ""


@pytest.mark.parametrize(
    ("names", "running"),
    [((), False), (("enabled",), True), (("enabled", "status.json", "result.json"), False), (("disabled", "enabled"), False)],
)
def test_cloud_init_runs_until_it_writes_its_result(names, running):
    assert read({f"/run/cloud-init/{name}": "" for name in names}).cloud_init_running is running


def test_a_tape_with_odd_rows_is_an_error_not_a_crash():
    found = read({"processes": [{"pid": "x"}], "host": {"hostname": 3, "now": "z"}})
    assert {found.processes.why, found.memlock_bytes.why} == {"error"}


@given(st.text() | st.text(alphabet="Max locked memory0123456789 unlimited\n"))
def test_any_limits_text_is_a_number_or_an_error(text):
    assert isinstance(parse_limits(text), int | Unread)


@given(st.text() | st.text(alphabet="LimitMEMLOCK=0123456789KMGinfinity:\n"))
def test_any_unit_text_is_a_limit_none_or_an_error(text):
    found = parse_memlock(text, "LimitMEMLOCK")
    assert found is None or isinstance(found, int | Unread)


@given(st.text(alphabet="/ abc\n\\"))
def test_any_mount_table_names_a_type_or_none(text):
    assert isinstance(parse_filesystem_type(text, "/a/b"), str)
