"""Filters take time in proportion to their input: what they take apart is anybody's text."""

import functools
import time
from pathlib import Path

import pytest

from hostagent.core.retention import WHOLE, Filtered, Keep, merged
from hostagent.engine.collect import ALL_READERS, collect
from hostagent.host import recording
from hostagent.host.source import Source
from hostagent.snapshot.keeping import KINDS, filtered

SIZE = 16 * 1024
#: What the filters of texts look for, stumble over, or have to pass by.
UNITS = [
    "a", " ", "\t", "\n", "\\\n", " \n", "\r\n", "=", ":", "a=", "a: ", "a\n", "a b\n", "#", "# a\n", ";", ";\n", "[", "]", "[a]\n", "[[a]]\n", "{", "}", "{}", '"', '""', '"a"', "'", "\\", '\\"', ",", "/", "-", "~", ".",
    "After=a \\\n", "After=a\n", "[Unit]\n", "export ", "GRUB_DEFAULT=", "GRUB_DEFAULT=a\n", "options nvidia ", "options nvidia a=b \\\n", "blacklist nouveau\n", "blacklist ", "\t blacklist",
    "Package: nvidia\n", "Package: nvidia\n\n", "\n\n", " \n \n", "Version: 1\n", "deb ", "deb [a] ://nvidia /\n", "# deb ", "URIs: http://nvidia\n", "Suites: a\n", "#clear a;", "//", "/* ", "*/", "a::", "a { ",
    "-----BEGIN PGP A-----\n", "extra/nvidia.ko:", "extra/", "nvidia.ko\n", "error: ", "[ERROR] ", "a[ERROR]\n", "make.log for ", "make.log for a for kernel b\n", "*** ", "btime 1\n", "/dev/a / ext4 rw\n", "a /usr b\n",
    "NVRM version:  NVIDIA UNIX ", "NVRM version:  NVIDIA UNIX a Kernel Module  1.1", "modprobe.blacklist=a ", "a = 1\n", "a.b = 1\n", '"a" = "b"\n', "- a\n", "a:\n ", "&a ", "*a ", "password=a\n",
    "NCCL_NET=a\n", "NCCL_NET=", "export NCCL_NET=a\n", "NCCL_X=a\n", "NCCL_NET=/home/a token=a\n", "\0",
]  # fmt: skip


def mask(_):
    return "0123456789abcdef" * 4


@functools.cache
def kinds():
    """Every filter of texts, with the names that readers give it."""
    found = {}
    for path in (Path(__file__).parents[2] / "hosts").glob("*/tape.json"):
        source = Source(recording.ReplayBackend(recording.load(str(path))))
        collect(source, ALL_READERS)
        for question, keeps in source.keeps.items():
            keep = merged(keeps)
            if keep and keep != WHOLE and question[0] in ("read", "tail", "run"):
                found.setdefault(keep.kind, set()).update(keep.names)
    return {kind: Keep(kind, tuple(sorted(names))) for kind, names in {"nccl.conf": set(), **found}.items()}


#: Not read by any of the recorded hosts.
OTHERS = {"first", "mounts", "keys", "arguments", "paths", "messages"}


def test_every_filter_of_texts_is_timed():
    assert set(KINDS) - set(kinds()) <= OTHERS
    assert set(kinds()) <= set(KINDS)


def seconds(kind, data):
    started = time.process_time()
    filtered(("read", "/x"), data, kinds()[kind], mask)
    return time.process_time() - started


def squares(kind, unit, size):
    """Does four times as much take nine times as long or more? A square takes sixteen. The best of several tries: machines are busy."""
    once, more = ((unit * (one // len(unit))).encode() for one in (size, 4 * size))
    short = long = float("inf")
    for _ in range(8):
        short, long = min(short, seconds(kind, once)), min(long, seconds(kind, more))
        if long < 9 * short or long < 0.02:
            return False
    return True


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_four_times_as_much_takes_four_times_as_long(kind):
    """One step is no square: a limit of size, after which another way is taken."""
    if kind not in kinds():
        assert kind in OTHERS
        return
    assert [unit for unit in UNITS if squares(kind, unit, SIZE) and squares(kind, unit, 4 * SIZE)] == []


def test_a_text_that_is_no_document_is_scrambled_in_time():
    data = b'{"a": "b", ' * 100_000
    started = time.process_time()
    left = filtered(("read", "/x"), data, Keep("json", ("a",)), mask)
    assert isinstance(left, Filtered)
    assert len(left.answer) == len(data)
    assert time.process_time() - started < 5
