"""How property tests explore: the same examples each time in the gate, others each time in ``make fuzz``."""

import gc
import os
import random
import signal
import threading
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

from tests import alone, costs, largepages, sampling

#: Wall clocks say how busy a machine is, not whether a test is right: `tests.cpu.within` bounds what a parser may take.
STEADY = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
EXAMPLES = DirectoryBasedExampleDatabase(Path(__file__).parent.parent / ".hypothesis/examples")
settings.register_profile("gate", derandomize=True, database=None, **STEADY)
settings.register_profile("fuzz", derandomize=False, database=EXAMPLES, max_examples=300, **STEADY)
settings.load_profile("gate")  # --hypothesis-profile comes later

#: Of `tests.fuzz`: seconds since the epoch after which no test begins, and in which order they come.
FUZZ_UNTIL = float(os.environ.get("FUZZ_UNTIL", "inf"))
FUZZ_SEED = os.environ.get("FUZZ_SEED", "")


# A shell that starts the tests in the background, and nohup, ignore these, and so would every program that a test starts and ends.
for _number, _usual in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler), (signal.SIGQUIT, signal.SIG_DFL)):
    if signal.getsignal(_number) == signal.SIG_IGN and threading.current_thread() is threading.main_thread():
        signal.signal(_number, _usual)


def pytest_configure(config):
    for plugin in (alone, costs, sampling):
        config.pluginmanager.register(plugin)


def pytest_collection_modifyitems(items):
    if FUZZ_SEED:
        random.Random(FUZZ_SEED).shuffle(items)


def pytest_runtest_setup(item):
    if time.time() > FUZZ_UNTIL:
        pytest.skip("the time for fuzzing is over")


def pytest_collection_finish(session):
    """What is collected lives to the end: the collector of garbage need not walk over it in the middle of a check that has half a second."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    largepages.hold()
