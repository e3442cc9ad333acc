"""A parser takes time in proportion to its input, whatever repeats in it: files, images and logs are other people's."""

import functools
import gc
import inspect
import time

import pytest

from hostagent.core.tables.kernel_words import PARTS, ROWS
from hostagent.domains.gpu.read_kernel_words import Line, parse_words
from tests.parsers import PARSERS, UNENDED, UNITS, arguments, repeated

SIZE = 8 * 1024
#: Parsers whose input may have many megabytes, where a small square costs minutes: how many times as much they get.
LARGE = {
    "packages.read_dpkg.parse_status": 4, "system.read_installed_kernels.parse_modules_dep": 4, "driver.read_dkms.parse_make_log": 2,
    "packages.read_rpm.parse_rpm_list": 2,
    "sockets.parse_listening": 2, "kernel_log.parse_kmsg": 2, "kernel_log.parse_syslog": 4, "driver.read_modinfo.parse_modinfo": 4,
    "driver.read_modinfo.parse_strings": 4, "driver.read_ld_cache.parse_ldcache": 4,
}  # fmt: skip
#: Seconds: what is over before is not looked at. A square that takes so long is over in two seconds for a megabyte.
_SHORT_S = 0.0015
#: Given as texts and nothing else, by their signature or because they take numbers.
NO_TEXT = {
    "gpu.nvml_answers.parse_health",
    "gpu.nvml_answers.parse_clock_events",
    *(f"gpu.read_kernel_words.parse_{one}" for one in ("lines", "words")),
}


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


def is_linear(function, given):
    """What is 16 times as long takes 16 times as long; with memory that the kernel gives anew some 30 times, a square 256 times.

    `given(k)`: the arguments of k times the size. Four times the size shows at once whether there is a question. The best of several
    tries counts: a busy machine is no reason.
    """
    once, fourfold = given(1), given(4)
    long = seconds(function, fourfold)
    if long < _SHORT_S:
        return True
    short = seconds(function, once)
    for _ in range(4):
        if long < 8 * short:
            return True
        short, long = min(short, seconds(function, once)), min(long, seconds(function, fourfold))
    longest = given(16)
    for _ in range(4):
        short = min(short, seconds(function, once))
        if seconds(function, longest) < 80 * short:
            return True
    return False


@pytest.fixture(autouse=True)
def _no_collection():
    """Python's garbage collector looks again and again at what a parser has built so far."""
    gc.disable()
    yield
    gc.enable()


def is_told_linearly(parser, text, size):
    """Each way in which a parser is given `text` (what comes first, what repeats, what ends it)."""
    given = functools.cache(lambda times: arguments(parser, repeated(*text, times * size), text[1]))
    assert given(1), "this parser was not tried"
    return all(is_linear(parser, lambda times, way=way: given(times)[way]) for way in range(len(given(1))))


@pytest.mark.parametrize("name", sorted(PARSERS.keys() - NO_TEXT))
def test_time_grows_with_the_input_and_not_with_its_square(name):
    size = SIZE * LARGE.get(name, 1)
    texts = [*(("", unit, "") for unit in UNITS), *UNENDED]
    assert [text for text in texts if not is_told_linearly(PARSERS[name], text, size)] == []


@pytest.mark.parametrize("part", PARTS)
def test_time_grows_with_the_records_of_the_kernel_log(part):
    """Traces that begin and never count among them."""
    texts = [text for row in ROWS if row.part == part for text in (*row.examples, row.examples[0], *row.noise)]

    def given(times):
        return {"part": part, "lines": [Line(texts[number % len(texts)], float(number), f"T{number}") for number in range(2048 * times)]}

    assert is_linear(parse_words, given)


def test_enough_is_repeated():
    assert len(set(UNITS)) == len(UNITS) >= 86
    assert LARGE.keys() | NO_TEXT <= PARSERS.keys()
