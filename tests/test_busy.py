"""On a machine that is busy a report is what it is on an idle one: judging and writing it are limited by the processor's time.

A compilation on every core, a node that loads data: the command gets a part of a processor, and waits for the rest.
"""

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import termios
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.children import until

H100 = str(Path(__file__).parent / "hosts/hgx-h100-ubuntu2404")
#: Reading has a limit of the wall clock, and is not what is asked about here.
CHECK = ("check", "--from", H100, "--json", "--deadline", "300")
COMMAND = "import sys; from hostagent.__main__ import main; main()"
#: The wall clock and its timer run faster than the processor's, thirty times for a process that gets 3 % of one.
FAST = f"""
import signal, sys, time
times = int(sys.argv.pop(1))
usual = signal.setitimer
time.monotonic = time.perf_counter = lambda: times * time.process_time()

def setitimer(timer, seconds, interval=0.0):
    if timer != signal.ITIMER_REAL:
        return usual(timer, seconds, interval)
    return tuple(times * one for one in usual(signal.ITIMER_VIRTUAL, seconds / times, interval / times))

def alarm(_, frame):
    if callable(handler := signal.getsignal(signal.SIGALRM)):
        handler(signal.SIGALRM, frame)

signal.setitimer = setitimer
signal.signal(signal.SIGVTALRM, alarm)
{COMMAND}
"""


def started(code, *arguments, **more):
    return subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def said(process):
    """Exit code, what was complained about, and the report but for times."""
    out, errors = process.communicate(timeout=600)
    report = json.loads(out)
    del report["timings_ms"]
    return process.returncode, errors, report


def stopped_and_continued(_):
    """97 ms of each 100 it stands still."""
    process = started(COMMAND, *CHECK)
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(said, process)
        while not found.done():
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.097)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.003)
    return found.result()


@pytest.mark.parametrize("times", ["30", "100"])
def test_by_a_clock_that_runs_so_many_times_faster_a_report_is_the_same(times):
    assert said(started(FAST, times, *CHECK)) == said(started(COMMAND, *CHECK))


@pytest.mark.full
def test_a_command_that_is_stopped_and_continued_reports_the_same_ten_times():
    calm = said(started(COMMAND, *CHECK))
    with ThreadPoolExecutor(10) as pool:
        for found in pool.map(stopped_and_continued, range(10)):
            assert found == calm


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_report_is_whole_where_a_stop_cuts_a_write_short(unbuffered):
    """A process that is stopped in the middle of a write comes back with a part of it written."""
    process = started(COMMAND, *CHECK, env={**os.environ, "PYTHONUNBUFFERED": unbuffered})
    waiting = process.stdout.fileno()
    assert until(lambda: struct.unpack("i", fcntl.ioctl(waiting, termios.FIONREAD, b"\0" * 4))[0] >= 65_536, 60), "the pipe is full"
    process.send_signal(signal.SIGSTOP)
    time.sleep(0.05)
    process.send_signal(signal.SIGCONT)
    assert said(process)[2]["verdict"]["single_node"] == "ready"
