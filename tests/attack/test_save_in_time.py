"""Saving a snapshot ends with its run: what takes long is left, and what is too long is refused before work goes into it."""

import time

import pytest

from hostagent import snapshot
from hostagent.core.deadline import within
from hostagent.core.errors import HostagentError
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread
from hostagent.engine.collection import InProcess
from hostagent.snapshot.keeping import filtered
from hostagent.snapshot.recording import _OWN_S
from hostagent.testing import TreeBackend

MIB = 1024 * 1024
KEY = b"k" * 32


def reading(answers):
    return InProcess(TreeBackend(answers))


def test_a_host_is_saved_though_its_reading_took_all_the_time():
    recorded, text = snapshot.save(reading({"/proc/stat": "btime 7\ncpu 1\n"}), KEY, within(-100))
    assert recorded.answers["read /proc/stat"]["text"] == "btime 7\n"
    assert "btime 7" in text


@pytest.mark.alone
def test_what_takes_too_long_is_left():
    words = [[1.0, "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, " + "user@h.example a=b 10.0.0.1 0123456789abcdef " * 20]]
    started = time.process_time()
    with pytest.raises(HostagentError, match=r"not made in 2\.5 s of processor time"):
        snapshot.save(reading({"kernel_log": {"lines": words * 12_000, "complete": True}}), KEY, within(-1))
    assert time.process_time() - started < _OWN_S + 2


def test_what_is_too_much_is_refused_before_it_is_redacted():
    lines = [[1.0, "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, " + "x" * 1000]] * 40_000
    started = time.process_time()
    with pytest.raises(HostagentError, match="answers take more than"):
        snapshot.save(reading({"kernel_log": {"lines": lines, "complete": True}}), KEY, within(60))
    assert time.process_time() - started < 4


@pytest.mark.parametrize("unit", ["\t", "\n", " \n", "\t\n\n", "\r\n"])
def test_blank_lines_take_no_room(unit):
    data = (unit * (MIB // len(unit))).encode()
    left = filtered(("read", "/x"), b"a=1\n" + data + b"\nA = 2\n", Keep("settings", ("a",)), str)
    assert not isinstance(left, Unread)
    assert len(left.answer) < 20
    assert left.answer.split() == [b"a=1", b"A", b"=", b"2"]
