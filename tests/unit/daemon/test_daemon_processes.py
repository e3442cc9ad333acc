"""What the daemon says of its own two processes, beside psutil."""

import os

import psutil
import pytest

from hostagent.daemon.processes import usage


def test_it_says_what_psutil_does():
    both = [psutil.Process(os.getppid()), psutil.Process()]
    before = [sum(one.cpu_times()[:4]) for one in both]
    found = usage()
    after = [sum(one.cpu_times()[:4]) for one in both]
    assert sum(before) - 0.01 <= found["cpu_seconds_total"] <= sum(after) + 0.01
    assert found["start_time_seconds"] == pytest.approx(both[0].create_time(), abs=0.1)
    for name, value in (
        ("resident_memory_bytes", lambda one: one.memory_info().rss),
        ("virtual_memory_bytes", lambda one: one.memory_info().vms),
    ):
        assert found[name] == pytest.approx(sum(map(value, both)), rel=0.1)
    assert found["open_fds"] == pytest.approx(sum(one.num_fds() for one in both), abs=2)
