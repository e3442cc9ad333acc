"""Uevents of the kernel, also more than its socket holds. The events are real ones, of the loopback device and of one on a bus."""

import os
import socket
from pathlib import Path

import pytest

from hostagent.source.uevents import Uevents

_LOOPBACK = Path("/sys/class/net/lo/uevent")
pytestmark = [pytest.mark.skipif(not os.access(_LOOPBACK, os.W_OK), reason="uevents are root's to ask for: run 'sudo make test'")]


#: What sysfs lets root ask for (Linux kernel, ABI/testing/sysfs-uevent).
_ACTIONS = ("add", "remove", "change", "move", "online", "offline", "bind", "unbind")


@pytest.fixture
def heard():
    found = Uevents(virtual=True)
    assert found.problem == ""
    found.look()
    return found


def test_a_device_that_changes_is_heard_once(heard):
    assert not heard.look()
    _LOOPBACK.write_text("change")
    assert heard.look()
    assert not heard.look()


def test_more_events_than_the_kernel_keeps_are_an_event(heard):
    with socket.socket(fileno=os.dup(heard.descriptor)) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    for _ in range(200):
        _LOOPBACK.write_text("change")
    assert heard.look()
    assert not heard.look()
    assert heard.problem == ""
    _LOOPBACK.write_text("change")
    assert heard.look()


def on_a_bus():
    """A device that this machine has, whatever it is."""
    devices = sorted(Path("/sys/bus/pci/devices").glob("*/uevent"))
    if not devices:
        pytest.skip("this machine has no PCI device whose uevent could be asked for")
    return devices[0]


@pytest.mark.parametrize("action", _ACTIONS)
def test_the_kernel_drops_events_of_interfaces_of_software_that_rtnetlink_has_too(action):
    found, device = Uevents(virtual=False), on_a_bus()
    found.look()
    _LOOPBACK.write_text(action)
    assert not found.look()
    device.write_text(action)
    assert found.look()
    assert found.problem == ""


def test_a_device_that_no_collector_reads_does_not_count(heard):
    Path("/sys/class/mem/null/uevent").write_text("change")
    assert not heard.look()
