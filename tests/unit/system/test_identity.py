"""Who the host is, from a dictionary as a host."""

from hostagent.domains.system.read_identity import read_identity
from hostagent.testing import host

HOST = {"hostname": "n1", "boot_id": "b", "now": 5, "release": "6.8.0-45-generic"}


def read(answer, kind="live"):
    return read_identity(host({"host": answer}, kind), lambda _: None)


def test_what_a_host_says_of_itself():
    found = read(HOST)
    assert (found.hostname, found.boot_id, found.now, found.kernel) == ("n1", "b", 5.0, "6.8.0-45-generic")


def test_an_image_has_no_boot_and_perhaps_no_kernel():
    found = read({"hostname": "n1", "now": 5.0}, "image")
    assert (found.boot_id.why, found.kernel.why) == ("not-running", "absent")


def test_words_of_another_type_are_errors():
    found = read({"hostname": 3, "now": "z"})
    assert {found.hostname.why, found.now.why} == {"error"}
