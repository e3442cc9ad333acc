"""Uevents of the kernel, also more than its socket holds. The events are real ones, of the loopback device and of one on a bus."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from hostagent.host.uevents import Uevents
from tests.real.conftest import need_real

_LOOPBACK = Path("/sys/class/net/lo/uevent")
pytestmark = [pytest.mark.skipif(not os.access(_LOOPBACK, os.W_OK), reason="uevents are root's to ask for: run 'sudo make test'")]


#: What sysfs lets root ask for (Linux kernel, ABI/testing/sysfs-uevent).
_ACTIONS = ("add", "remove", "change", "move", "online", "offline", "bind", "unbind")


@pytest.fixture
def heard():
    found = Uevents()
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


@pytest.mark.parametrize("action", _ACTIONS)
def test_whatever_is_said_of_the_loopback_device_counts(heard, action):
    """Each action has a length of its own, behind which the kernel's filter looks."""
    _LOOPBACK.write_text(action)
    assert heard.look()


def test_the_kernel_drops_events_of_interfaces_of_software_that_rtnetlink_has_too(heard):
    need_real("ip", "apt-get install iproute2")
    name = f"ha{os.getpid()}"
    for change in (("add", name, "type", "veth", "peer", "name", f"{name}p"), ("set", name, "up"), ("del", name)):
        subprocess.run(["ip", "link", *change], check=True)
    assert not heard.look()
    _LOOPBACK.write_text("change")
    assert heard.look()


def test_a_device_that_no_collector_reads_does_not_count(heard):
    Path("/sys/class/mem/null/uevent").write_text("change")
    assert not heard.look()
