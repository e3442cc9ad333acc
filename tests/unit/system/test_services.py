"""Units from a dictionary as a host. What systemctl says of the same trees: tests/real/test_systemctl.py."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.system.read_services import read_services, slice_path
from hostagent.domains.system.unit_file import parse_unit
from hostagent.testing import host

VENDOR = "/usr/lib/systemd/system"
TEXT = "[Service]\nExecStart=/usr/bin/containerd\n[Install]\nWantedBy=multi-user.target\n"
LIVE = {"processes": [], f"{VENDOR}/containerd.service": TEXT}


def unit(files, name="containerd", kind="live"):
    return read_services(host({**LIVE, **files}, kind), lambda _: None).unit(name)


def test_a_unit_that_is_not_installed_does_not_exist():
    found = unit({}, "docker")
    assert (found.exists, found.state) == (False, Unread("absent", "no unit docker.service"))


def test_a_unit_nobody_looked_for_is_not_absent():
    assert unit({}, "sshd") == Unread("not-recorded", "the unit sshd was not looked for")


def test_drop_ins_follow_the_unit_in_the_order_of_their_names():
    files = {
        f"{VENDOR}/containerd.service.d/20.conf": "[Service]\nLimitMEMLOCK=1\n",
        "/etc/systemd/system/containerd.service.d/10.conf": "[Service]\nLimitMEMLOCK=2\n",
        "/etc/systemd/system/containerd.service.d/20.conf": "[Service]\nLimitMEMLOCK=infinity\n",
        "/etc/systemd/system/service.d/05.conf": "[Service]\nNice=1\n",
        "/etc/systemd/system/containerd.service.d/notes.txt": "no",
    }
    text = unit(files).text
    assert [line for line in text.splitlines() if "=" in line][2:] == ["Nice=1", "LimitMEMLOCK=2", "LimitMEMLOCK=infinity"]


def test_a_masked_unit_has_no_text_and_is_not_enabled():
    found = unit({"/etc/systemd/system/containerd.service": ("link", "/dev/null")})
    assert (found.exists, found.masked, found.enabled, found.state) == (True, True, False, "masked")


def test_a_wants_link_of_the_vendor_starts_a_unit_that_systemctl_calls_disabled():
    found = unit({f"{VENDOR}/multi-user.target.wants/containerd.service": ("link", "../containerd.service")})
    assert (found.state, found.enabled) == ("disabled", True)


@pytest.mark.parametrize(
    ("files", "active"),
    [
        ({"/sys/fs/cgroup/system.slice/containerd.service/cgroup.events": "populated 1\nfrozen 0\n"}, True),
        ({"/sys/fs/cgroup/system.slice/containerd.service/cgroup.events": "populated 0\nfrozen 0\n"}, False),
        ({"/sys/fs/cgroup/systemd/system.slice/containerd.service/cgroup.procs": "812\n"}, True),
        ({"/sys/fs/cgroup/system.slice/ssh.service/cgroup.procs": "1\n"}, False),
        ({"processes": [{"name": "containerd", "pid": 4, "argv": [], "started_at": 1.0}]}, True),
        ({}, False),
        (
            {
                "/etc/systemd/system/containerd.service.d/s.conf": "[Service]\nSlice=runtime.slice\n",
                "/sys/fs/cgroup/runtime.slice/containerd.service/cgroup.events": "populated 1\n",
            },
            True,
        ),
    ],
)
def test_a_unit_is_active_while_its_cgroup_or_without_systemd_its_daemon_lives(files, active):
    assert unit(files).active is active


def test_a_process_that_may_be_anybodys_leaves_open_whether_its_unit_is_active():
    row = {"name": "containerd", "pid": 4, "argv": [], "started_at": 1.0, "unit": None}
    assert unit({"processes": [row]}).active == Unread("denied", "who runs containerd (pid 4) cannot be seen with the rights of this run")


def test_an_image_runs_nothing_and_still_says_what_is_enabled():
    stopped = {"processes": Unread("not-running", "an image"), "realpath /run/systemd/system": Unread("not-running", "an image")}
    link = {"/etc/systemd/system/multi-user.target.wants/containerd.service": ("link", f"{VENDOR}/containerd.service")}
    found = unit({**stopped, **link}, kind="image")
    assert (found.active, found.enabled) == (Unread("not-running", "an image"), True)


def test_a_directory_that_cannot_be_listed_leaves_every_unit_open():
    files = {**LIVE, "list /etc/systemd/system": Unread("denied", "list"), "realpath /etc/systemd/system": "/etc/systemd/system"}
    assert read_services(host(files), lambda _: None).units == Unread("denied", "list")


def test_a_unit_file_that_cannot_be_read_leaves_that_unit_open():
    found = unit({f"{VENDOR}/containerd.service": Unread("denied", "read")})
    assert (found.exists, found.enabled, found.text) == (True, Unread("denied", "read"), Unread("denied", "read"))


@pytest.mark.parametrize("why", ["denied", "error", "timeout"])
@pytest.mark.parametrize("place", [VENDOR, "/etc/systemd/system", "/run/systemd/system"])
def test_a_wants_link_that_nobody_could_look_at_leaves_open_whether_the_unit_is_enabled(place, why):
    link = f"{place}/multi-user.target.wants/containerd.service"
    found = unit({link: ("link", f"{VENDOR}/containerd.service"), f"readlink {link}": Unread(why, "refused")})
    assert found.enabled == Unread(why, "refused")


def test_a_file_in_a_wants_directory_is_no_link_and_starts_nothing():
    assert unit({f"{VENDOR}/multi-user.target.wants/containerd.service": TEXT}).enabled is False


def test_an_alias_that_nobody_could_look_at_leaves_open_whether_its_unit_is_enabled():
    alias = "/etc/systemd/system/cri.service"
    files = {f"{VENDOR}/containerd.service": f"{TEXT}Alias=cri.service\n", alias: ("link", f"{VENDOR}/containerd.service")}
    assert unit(files).enabled is True
    assert unit({**files, f"readlink {alias}": Unread("denied", "refused")}).enabled == Unread("denied", "refused")


def test_a_link_that_is_no_alias_of_the_unit_decides_nothing():
    other = "/etc/systemd/system/other.service"
    assert unit({other: ("link", "/x.service"), f"readlink {other}": Unread("denied", "refused")}).enabled is False


@pytest.mark.parametrize("question", ["stat", "realpath"])
def test_a_unit_file_whose_kind_is_not_seen_is_neither_masked_nor_not(question):
    lost = Unread("denied", "refused")
    found = unit({f"{question} {VENDOR}/containerd.service": lost})
    assert (found.masked, found.enabled) == (lost, lost)


def test_a_cgroup_tree_that_is_not_seen_leaves_open_whether_a_unit_is_active():
    lost = Unread("denied", "refused")
    assert unit({"stat /sys/fs/cgroup/system.slice": lost}).active == lost


def test_systemd_passes_over_a_drop_in_that_leads_nowhere():
    found = unit({"/etc/systemd/system/containerd.service.d/10.conf": ("link", "/opt/gone.conf")})
    assert (found.state, found.enabled) == ("disabled", False)


def test_a_link_to_nothing_is_an_error():
    assert unit({f"{VENDOR}/docker.service": ("link", "/opt/gone.service")}, "docker").state.why == "error"


@given(st.text() | st.text(alphabet="[]=\\\n#; AbService"))
def test_any_text_is_a_unit(text):
    assert isinstance(parse_unit(text).words("Service", "A"), list)


@given(st.text())
def test_any_slice_is_a_path_below_the_cgroup_root(name):
    assert ".." not in slice_path(name).split("/")
