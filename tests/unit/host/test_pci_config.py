"""Configuration space: a few words are read, whoever may see only its header is told so, and nothing that sleeps is woken."""

import os

import pytest

from hostagent.core.unread import Unread
from hostagent.engine.questions import live_backend
from hostagent.host.files import Files
from hostagent.host.paths import Root
from hostagent.host.pci_config import controls, settings
from tests.attack.spaces import become, start

ADDRESS = "0000:17:00.0"
DENIED = f"/sys/bus/pci/devices/{ADDRESS}/config: what stands beyond its first 64 bytes takes CAP_SYS_ADMIN"


def config(*, acs=0x1D, control=0x2936, size=4096, extended=(0x0001, 0x000D)):
    """A bridge: power management, then PCI Express; AER, then ACS."""
    data = bytearray(4096)
    data[0x06], data[0x34] = 0x10, 0x40
    data[0x40:0x42] = b"\x01\x60"
    data[0x60:0x62] = b"\x10\x00"
    data[0x68:0x6A] = control.to_bytes(2, "little")
    for number, kind in enumerate(extended):
        following = 0x100 + 0x50 * (number + 1) if number + 1 < len(extended) else 0
        place = 0x100 + 0x50 * number
        data[place : place + 4] = (kind | 1 << 16 | following << 20).to_bytes(4, "little")
        if kind == 0x000D:
            data[place + 6 : place + 8] = acs.to_bytes(2, "little")
    return bytes(data[:size])


@pytest.fixture
def function(tmp_path):
    directory = tmp_path / "sys/bus/pci/devices" / ADDRESS
    directory.mkdir(parents=True)
    (directory / "config").write_bytes(config())
    (directory / "aer_dev_fatal").write_text("Undefined 0\nDLP 2\nTLP 1\nTOTAL_ERR_FATAL 3\n")
    return directory


def asked(root, *addresses):
    return controls(Files(Root(str(root))), addresses or (ADDRESS,))


def test_three_words_of_a_bridge(tmp_path, function):
    assert asked(tmp_path) == {ADDRESS: {"acs": 0x1D, "control": 0x2936, "fatal": 3}}
    assert live_backend(str(tmp_path), "host-root").ask("pci_controls", ADDRESS) == asked(tmp_path)


def test_few_bytes_are_read_and_never_the_whole(tmp_path, function, monkeypatch):
    read, pread = [], os.pread
    monkeypatch.setattr(os, "pread", lambda *one: read.append(one[1]) or pread(*one))
    asked(tmp_path)
    assert sum(read) < 32


@pytest.mark.parametrize(
    ("changed", "acs", "control"),
    [
        ({"extended": (0x0001,)}, "not-supported", 0x2936),
        ({"extended": ()}, "not-supported", 0x2936),
        ({"size": 256}, "error", 0x2936),
    ],
)
def test_what_a_function_lacks_is_not_supported_and_what_is_out_of_reach_is_unknown(tmp_path, function, changed, acs, control):
    (function / "config").write_bytes(config(**changed))
    found = asked(tmp_path)[ADDRESS]
    assert (found["acs"]["unread"][0], found["control"]) == (acs, control)


@pytest.mark.parametrize(("filled", "size", "why"), [(0, 4096, "not-supported"), (0xFF, 4096, "error"), (0, 64, "not-supported")])
def test_a_function_of_another_kind_or_one_that_fell_off_its_bus(tmp_path, function, filled, size, why):
    (function / "config").write_bytes(bytes([filled]) * size)
    found = asked(tmp_path)[ADDRESS]
    assert found["acs"]["unread"][0] == found["control"]["unread"][0] == why


def test_who_sees_the_header_alone_is_denied_all(tmp_path, function):
    (function / "config").write_bytes(config(size=64))
    assert asked(tmp_path) == Unread("denied", DENIED)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_the_kernel_shows_an_ordinary_user_the_header_alone():
    """Of this machine's own functions, where one has capabilities."""
    devices = "/sys/bus/pci/devices"
    names = [name for name in sorted(os.listdir(devices)) if open(f"{devices}/{name}/config", "rb").read(7)[6] & 0x10]  # noqa: SIM115
    if not names:
        pytest.skip("found no PCI function with capabilities")

    def ordinary():
        become(65534)
        assert controls(Files(Root()), names).why == "denied"

    _, status = os.waitpid(start(ordinary), 0)
    assert status == 0
    assert set(controls(Files(Root()), names)) == set(names)


def test_what_sleeps_is_not_woken(tmp_path, function):
    (function / "power").mkdir()
    (function / "power/runtime_status").write_text("suspended\n")
    (function / "config").write_bytes(b"")
    found = asked(tmp_path)[ADDRESS]
    assert (found["acs"]["unread"][0], found["fatal"]) == ("not-supported", 3)


def test_a_missing_function_is_absent_and_no_address_is_an_error(tmp_path, function):
    found = asked(tmp_path, "0000:18:00.0")["0000:18:00.0"]
    assert {name: value["unread"][0] for name, value in found.items()} == dict.fromkeys(("acs", "control", "fatal"), "absent")
    assert asked(tmp_path, "../../../etc").why == "error"
    (function / "aer_dev_fatal").write_text("nothing\n")
    assert asked(tmp_path)[ADDRESS]["fatal"]["unread"][0] == "error"


@pytest.mark.parametrize("offset", [0x41, 0x102])
def test_a_list_that_leads_back_to_itself_ends(offset):
    data = bytearray(config(extended=(0x0001,)))
    data[0x40:0x42] = b"\x01\x40" if offset == 0x41 else data[0x40:0x42]
    data[0x102:0x104] = b"\x01\x10"  # the next one is at 0x100
    found = settings(lambda place, size: int.from_bytes(data[place : place + size], "little"))
    assert found["acs"].why == "not-supported"
