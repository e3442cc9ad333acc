"""A parser takes time in proportion to its input, whatever repeats in it: files, images and logs are other people's."""

import gc
import inspect
import time

import pytest

from tests.parsers import PARSERS, UNENDED, UNITS, arguments, repeated

SIZE = 8 * 1024
#: Parsers whose input may have many megabytes, where a small square costs minutes: how many times as much they get.
LARGE = {
    "packages.dpkg.parse_status": 4, "kernel.installed.parse_modules_dep": 4, "driver.dkms.parse_make_log": 2, "packages.rpm.parse_rpm_list": 2,
    "sockets.parse_listening": 2, "kernellog.parse_kmsg": 2, "kernellog.parse_syslog": 4, "modinfo.parse_modinfo": 4, "modinfo.parse_strings": 4,
    "driver.ldcache.parse_ldcache": 4,
}  # fmt: skip
#: Seconds: what is over before is not looked at. A square that takes so long is over in two seconds for a megabyte.
_SHORT_S = 0.0015
#: Given as texts and nothing else, by their signature or because they take numbers.
NO_TEXT = {"gpu.nvml.parse_health", "gpu.nvml.parse_clock_events"}


def seconds(function, given):
    started = time.process_time()
    try:
        found = function(**given)
        if inspect.isgenerator(found):
            for _ in found:
                pass
    except ValueError:
        pass
    return time.process_time() - started


def is_linear(function, once, doubled):
    """What was doubled twice takes four times as long, a square sixteen times. The best of several tries: a busy machine is no reason."""
    long = seconds(function, doubled)
    if long < _SHORT_S:
        return True
    short = seconds(function, once)
    for _ in range(12):
        if long < 8 * short:
            return True
        short, long = min(short, seconds(function, once)), min(long, seconds(function, doubled))
    return False


@pytest.fixture(autouse=True)
def _no_collection():
    """Python's garbage collector looks again and again at what a parser has built so far."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - NO_TEXT))
def test_time_grows_with_the_input_and_not_with_its_square(name):
    size = SIZE * LARGE.get(name, 1)
    slow = []
    for start, unit, end in [*(("", unit, "") for unit in UNITS), *UNENDED]:
        pairs = zip(*(arguments(PARSERS[name], repeated(start, unit, end, length), unit) for length in (size, 4 * size)), strict=True)
        tried = [is_linear(PARSERS[name], once, doubled) for once, doubled in pairs]
        assert tried, "this parser was not tried"
        if not all(tried):
            slow.append((start, unit, end))
    assert slow == []


def test_enough_is_repeated():
    assert len(set(UNITS)) == len(UNITS) >= 86
    assert LARGE.keys() | NO_TEXT <= PARSERS.keys()
