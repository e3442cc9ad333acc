"""Small files that would take much: time in C, which no timer interrupts, or memory (attack S7, S19)."""

import contextlib
import gzip
import lzma
import struct
import subprocess
import sys
import time

import pytest

from hostagent.domains.packages.openpgp import parse_key_ids
from hostagent.domains.runtime.cdi_spec import CdiError, parse_spec

MIB = 1024 * 1024
#: Reads a module file in a process of its own, and says what it took at most.
READ = """
import os, sys
from hostagent.domains.driver.read_modinfo import modinfo
found = os.open(sys.argv[1], os.O_RDONLY)
answer = modinfo(found, "x", os.fstat(found).st_size)
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak.split()[1], repr(answer))
"""


#: Reads all there is to read in an image.
COLLECT = """
import sys
from hostagent.engine.collect import collect
from hostagent.core.deadline import within
from hostagent.facts.driver import Driver
from hostagent.facts.packages import Packages
from hostagent.host.source import Source
from hostagent.engine.questions import live_backend
facts, _ = collect(Source(live_backend(sys.argv[1], "image", kernel="6.8.0", deadline=within(300))))
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(peak.split()[1], repr(facts.of(Packages)), repr(facts.of(Driver)))
"""


def header(count, names=1, table=64):
    return b"\x7fELF\x02\x01\x01".ljust(16, b"\0") + struct.pack("<HHIQQQIHHHHHH", 1, 62, 1, 0, 0, table, 0, 64, 0, 0, 64, count, names)


def section(name, offset, size, info=0):
    return struct.pack("<IIQQQQIIQQ", name, 1, 0, 0, offset, size, info, 0, 1, 0)


NAMES = b"\0.shstrtab\0.modinfo\0"
#: What a file of 128 MiB begins with; the rest of it is nothing.
HEADS = {
    "sections": header(0) + section(0, 0, (128 * MIB - 64) // 64, info=1),
    "names": header(3) + section(0, 0, 0) + section(1, 0, 128 * MIB),
    "modinfo": header(3) + section(0, 0, 0) + section(1, 256, len(NAMES)) + section(11, 4096, 127 * MIB) + NAMES,
    "nothing": b"",
}


def plain(kind):
    return HEADS[kind].ljust(128 * MIB, b"\0")


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_a_module_of_128_mib_takes_less_than_half_a_gibibyte(tmp_path, kind, suffix):
    path = tmp_path / "nvidia.ko"
    if suffix:
        path.write_bytes(packed(plain(kind), suffix))
    else:
        with path.open("wb") as stream:
            stream.write(HEADS[kind])
            stream.truncate(128 * MIB)
    assert peak(path) < 256


def packed(data, suffix):
    if suffix == ".gz":
        return gzip.compress(data, 1)
    if suffix == ".xz":
        return lzma.compress(data, preset=0)
    zstd = pytest.importorskip("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
    return zstd.compress(data, 1)


def run(code, path):
    """MiB that a process of its own took at most, and what it said."""
    kib, _, answer = subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True, text=True).stdout.partition(
        " "
    )
    return int(kib) // 1024, answer


def peak(path):
    """MiB that it takes to read a module that says nothing."""
    mib, answer = run(READ, path)
    assert answer.startswith("Unread('error', "), answer
    return mib


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_what_unpacks_to_more_is_left_when_it_does(tmp_path, suffix):
    path = tmp_path / "nvidia.ko"
    path.write_bytes(packed(bytes(512 * MIB), suffix))
    assert peak(path) < 256


def test_an_xz_file_that_wants_more_memory_than_a_module_has_is_refused(tmp_path):
    path = tmp_path / "nvidia.ko.xz"
    path.write_bytes(lzma.compress(bytes(MIB), filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1024 * MIB}]))
    assert peak(path) < 64


def image(root, **files):
    """An image with these files: what each begins with, and how many bytes it has."""
    stanza = b"Package: nvidia-utils-580\nStatus: install ok installed\nVersion: 580\n\n"
    files = {"etc/os-release": (b"ID=debian\n", 0), "var/lib/dpkg/status": (stanza, 0), "lib/modules/6.8.0/kernel/x": (b"", 0), **files}
    for name, (start, size) in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as stream:
            stream.write(start)
            stream.truncate(max(size, len(start)))
    return root


REPEATED = {
    "packages": ("var/lib/dpkg/status", b"Package: nvidia-x\nStatus: install ok installed\nVersion: 1\n\n", 64 * MIB),
    "fields": ("var/lib/dpkg/status", b"Package: nvidia-x\n", 64 * MIB),
    "blank lines": ("var/lib/dpkg/status", b"\n", 64 * MIB),
    "wide characters": ("var/lib/dpkg/status", "Description: \U0001f600\n\n".encode(), 64 * MIB),
    "modules": ("lib/modules/6.8.0/modules.dep", b"a/b.ko:\n", 16 * MIB),
    "libraries": ("etc/ld.so.cache", b"glibc-ld.so.cache1.1" + bytes(4096), 16 * MIB),
    "errors": ("var/lib/dkms/nvidia/580.95.05/build/make.log", b"\n", 8 * MIB),
}


@pytest.mark.parametrize("kind", REPEATED)
def test_a_large_file_of_an_image_takes_less_than_half_a_gibibyte(tmp_path, kind):
    name, unit, size = REPEATED[kind]
    mib, _ = run(COLLECT, image(tmp_path, **{name: (unit * (size // len(unit)), 0)}))
    assert mib < 512


def test_a_thousand_files_of_nothing_take_less_than_half_a_gibibyte(tmp_path):
    files = {f"etc/apt/sources.list.d/{at}.list": (b"", MIB) for at in range(1000)}
    mib, facts = run(COLLECT, image(tmp_path, **files))
    assert mib < 512
    assert "bytes that one fact may read" in facts


def computed(function, *given):
    started = time.process_time()
    with contextlib.suppress(ValueError):
        function(*given)
    return time.process_time() - started


def test_a_keyring_of_headers_ends():
    assert computed(parse_key_ids, b"-----BEGIN PGP A-----:\n" * (MIB // 23)) < 5


@pytest.mark.parametrize(
    "text",
    [
        "a: " + "[ " * 9_900 + "a, " * 300_000,
        "a: " + "[ " * 100 + "a, " * 300_000,
        "[" + "a," * 500_000 + "]",
        "? a\n" * 250_000,
        "-\n" * 500_000,
        "a:\n " * 250_000,
        "- ! a\n" * 170_000,
    ],
    ids=lambda text: text[:10],
)
def test_a_specification_of_a_megabyte_ends(text):
    assert len(text) <= 1.1 * MIB
    assert computed(parse_spec, text.encode()) < 5
    with pytest.raises(CdiError):
        parse_spec(text.encode())
