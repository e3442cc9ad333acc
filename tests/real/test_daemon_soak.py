"""A hundred passes over the simulated 8-GPU host: no program is executed, and memory and descriptors stay as after the tenth."""

import os
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cpu import least
from tests.real.daemonrun import port
from tests.real.executions import Executions
from tests.real.footprint import of_daemon
from tests.trees import hosts

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="the kernel tells root alone what is executed: run 'sudo make test'")]
PASSES, SETTLED = 100, 10
#: The processor time of a pass, as a multiple of the floor's in the same minutes: 2.9 as measured. ``make bench`` measures it in per cent of a core.
PSS_MIB, CPU_RATIO = 56, 4.0
FLOOR = [sys.executable, "-c", "import click"]
#: The loop and its publisher as they are, but for the time between two passes: the loop waits for a word instead.
LOOP = """
import sys, time
from hostagent.cli.daemon import Reload, _load
from hostagent.daemon.events import Events
from hostagent.outputs.log import Log
from hostagent.daemon.loop import Loop
from hostagent.daemon.notify import Notify
from hostagent.daemon.settings import Settings
from hostagent.daemon.publisher import serve
from hostagent.daemon.publisher_process import PublisherProcess
from hostagent.http.listening import listening
from hostagent.engine.target import Evidence

class OnWord(Events):
    def wait(self, confirm_s, tick):
        print("passed", flush=True)
        if not sys.stdin.readline().strip():
            raise SystemExit
        tick()
        self._read_events(time.monotonic())
        return "interval"

place = Evidence(host_root=sys.argv[1])
settings = Settings(place, "", "n", sys.argv[2], listen=sys.argv[3], kubernetes="off", textfile=sys.argv[2] + "/hostagent.prom")
http = listening(settings.listen, "", "")
log, reload = Log("text", lambda line: print(line, file=sys.stderr)), Reload()
publisher = PublisherProcess(lambda line: serve(line, settings, None, log, http), (http.line.fileno(),))
try:
    publisher.look(time.monotonic())
    loop = Loop(settings, lambda before: _load(settings, before, reload, log), publisher, log)
    loop.begin()
    loop.forever(OnWord(place, 60), Notify(""))
finally:
    publisher.close(5)
"""


class Soak:
    """The daemon's two processes, pass by pass."""

    def __init__(self, folder: Path) -> None:
        tree, state = folder / "tree", folder / "state"
        hosts.hgx_h100_here(tree)
        state.mkdir()  # the daemon makes it before it starts the publisher
        argv = [sys.executable, "-c", LOOP, tree, state, f"127.0.0.1:{port()}"]
        root = Path(__file__).parents[2]
        self.process = subprocess.Popen(list(map(str, argv)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root)
        self.passed()

    def passed(self) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "passed\n"

    def one(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("again\n")
        self.process.stdin.flush()
        self.passed()

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(20)


def test_a_hundred_passes_execute_nothing_and_leave_nothing(tmp_path):
    soak = Soak(tmp_path)
    for _ in range(SETTLED):
        soak.one()
    found = [of_daemon(soak.process.pid)]
    floors = []
    with Executions(soak.process.pid) as executed:
        for number in range(PASSES - SETTLED):
            soak.one()
            found.append(of_daemon(soak.process.pid))
            if number % 5 == 0:
                floors.append(least({"floor": FLOOR}, os.environ, rounds=1)["floor"])
    assert soak.end() == 0
    pss = [one.pss_kib / 1024 for one in found]
    ratio = (found[-1].cpu_s - found[0].cpu_s) / len(found[1:]) / statistics.mean(floors)
    assert (executed.programs, executed.problem) == ([], "")
    assert executed.forks >= PASSES - SETTLED, "each pass forks"
    early, late = ([one.descriptors for one in some] for some in (found[:20], found[-20:]))
    assert min(early) == min(late), "but for what the publisher writes at that moment"
    assert statistics.median(pss) <= PSS_MIB
    assert ratio <= CPU_RATIO, f"found {ratio:.2f} times the processor time of {FLOOR[-1]!r}"
    grown = statistics.median(pss[-20:]) - statistics.median(pss[:20])
    assert grown < 1, f"found {grown:.2f} MiB more after {PASSES} passes"
