"""What the kernel says of devices, also where it says too much at once. The events are real ones, of the loopback device."""

import os
import socket
from pathlib import Path

import pytest

from hostagent.source.uevents import Uevents

_LOOPBACK = Path("/sys/class/net/lo/uevent")
pytestmark = [pytest.mark.skipif(not os.access(_LOOPBACK, os.W_OK), reason="uevents are root's to ask for: run 'sudo make test'")]


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
