"""The distribution, from a dictionary as a host."""

from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.system.distributions import ARCHITECTURES, DISTRIBUTIONS, repository
from hostagent.domains.system.read_os import parse_elf_machine, parse_selinux_config, read_os
from hostagent.testing import host

UBUNTU = {"id": "ubuntu", "version_id": "24.04", "id_like": "debian", "pretty_name": "Ubuntu 24.04.2 LTS"}
LIVE = {"os_release": UBUNTU, "host": {"machine": "x86_64"}}


def read(files, kind="live"):
    return read_os(host({**LIVE, **files}, kind), lambda _: Unread("not-recorded"))


def test_an_ordinary_host_is_read_from_os_release():
    found = read({})
    assert (found.id, found.version_id, found.pretty_name) == ("ubuntu", "24.04", "Ubuntu 24.04.2 LTS")
    assert (found.arch, found.selinux) == ("x86_64", "disabled")
    assert found.selinux_container_devices == Unread("absent", "no /sys/fs/selinux/booleans/container_use_devices")


def test_an_unreadable_os_release_leaves_the_distribution_open():
    assert read({"os_release": Unread("not-recorded", "os_release")}).id == Unread("not-recorded", "os_release")


def test_an_image_says_its_architecture_by_its_loader_and_selinux_by_its_configuration():
    elf = b"\x7fELF\x02\x01\x01" + b"\0" * 9 + b"\x03\x00\xb7\x00" + b"\0" * 44
    files = {
        "os_release": UBUNTU,
        "host": {"now": 1.0},
        "/lib/ld-linux-aarch64.so.1": elf,
        "read /sys/fs/selinux/enforce": Unread("not-running", "an image"),
        "/etc/selinux/config": "SELINUX=permissive\n",
    }
    found = read_os(host(files, "image"), lambda _: None)
    assert (found.arch, found.selinux) == ("aarch64", "permissive")


def test_selinux_says_whether_containers_may_use_devices():
    found = read({"/sys/fs/selinux/enforce": "1", "/sys/fs/selinux/booleans/container_use_devices": "0 0"})
    assert (found.selinux, found.selinux_container_devices) == ("enforcing", False)


def test_what_selinux_says_wrongly_is_an_error():
    found = read({"/sys/fs/selinux/enforce": "7", "/sys/fs/selinux/booleans/container_use_devices": ""})
    assert (found.selinux.why, found.selinux_container_devices.why) == ("error", "error")


@given(st.binary(max_size=64) | st.binary(max_size=40).map(lambda tail: b"\x7fELF" + tail))
def test_any_bytes_are_a_machine_or_an_error(data):
    assert isinstance(parse_elf_machine(data), str | Unread)


@given(st.text())
def test_any_selinux_configuration_is_a_mode_or_an_error(text):
    assert isinstance(parse_selinux_config(text), str | Unread)


def test_each_distribution_has_a_repository_for_each_of_its_versions():
    assert all(repository(one.id, version) for one in DISTRIBUTIONS for version in one.versions)
    assert not repository("arch", "")
    assert set(ARCHITECTURES) == {"x86_64", "aarch64"}
