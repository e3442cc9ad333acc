"""What a libnccl or a plug-in says of itself is read of any file under that name, or it is an error; never more than its limits."""

import os
import struct
import subprocess
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.nccl.read_elf import parse_nccl_library
from hostagent.engine.questions import live_backend
from hostagent.host.source import Source
from tests.trees.formats import kernel_module, nccl_library, shared_library

NAMES = st.from_regex(r"lib[a-z]{1,8}\.so\.[0-9]{1,2}", fullmatch=True)
SYMBOLS = st.sampled_from(
    [f"ncclNetPlugin_v{number}" for number in range(6, 12)] + ["ncclTunerPlugin_v3", "ncclProfiler_v1", "ncclEnvPlugin_v1"]
)
WHOLE = nccl_library("2.28.9", needed=("libc.so.6", "libm.so.6"), runpath="/opt/amazon/efa/lib:$ORIGIN")


@given(
    st.tuples(st.integers(0, 9), st.integers(0, 99), st.integers(0, 99)),
    st.lists(NAMES, unique=True, max_size=12),
    st.lists(SYMBOLS, unique=True),
    st.lists(st.from_regex(r"/[a-z]{1,5}(/[a-z]{1,5}){0,3}", fullmatch=True), max_size=3),
)
def test_what_was_put_in_is_read(version, needed, symbols, paths):
    text = ".".join(map(str, version))
    found = parse_nccl_library(nccl_library(text, "13.0", needed=tuple(needed), symbols=tuple(symbols), runpath=":".join(paths)))
    assert found == {"version": text, "cuda": "13.0", "needed": sorted(needed), "paths": paths, "symbols": sorted(symbols)}


def test_readelf_reads_the_same_of_what_the_tests_make(tmp_path):
    (tmp_path / "x.so").write_bytes(WHOLE)
    said = subprocess.run(["readelf", "--wide", "--dynamic", tmp_path / "x.so"], capture_output=True, text=True, check=True).stdout
    assert "Library runpath: [/opt/amazon/efa/lib:$ORIGIN]" in said
    assert [name in said for name in parse_nccl_library(WHOLE)["needed"]] == [True, True]


@pytest.mark.parametrize("end", range(0, len(WHOLE), 7))
def test_a_file_that_ends_anywhere_is_an_error(end):
    assert parse_nccl_library(WHOLE[:end]).why == "error"


@pytest.mark.parametrize("data", [b"", b"/* GNU ld script */ GROUP ( libnccl.so.2 )", b"\x7fELF\x01\x01" + bytes(100), shared_library()])
def test_what_is_no_such_file_is_an_error(data):
    assert parse_nccl_library(data).why == "error"


def test_a_file_without_these_sections_says_nothing():
    said = parse_nccl_library(kernel_module({"version": "1"}))
    assert said == {"version": "", "cuda": "", "needed": [], "paths": [], "symbols": []}


@settings(max_examples=300)
@given(st.binary(max_size=60), st.integers(0, len(WHOLE)))
@example(b"\xff" * 8, 40)
@example(b"\xff" * 8, len(WHOLE) - 40)
def test_any_bytes_in_it_are_an_answer(noise, at):
    found = parse_nccl_library(WHOLE[:at] + noise + WHOLE[at + len(noise) :])
    assert isinstance(found, Unread) or set(found) == {"version", "cuda", "needed", "paths", "symbols"}


@pytest.mark.parametrize("name", ["lib\x1b[31m.so", "../../etc/passwd", "lib a.so", "x" * 300])
def test_a_name_that_is_no_librarys_is_left_out(name):
    assert parse_nccl_library(nccl_library(needed=("libc.so.6", name)))["needed"] == ["libc.so.6"]


def test_thousands_of_symbols_are_cut():
    assert len(parse_nccl_library(nccl_library(symbols=tuple(f"ncclNetPlugin_v{number}" for number in range(999))))["symbols"]) == 100


def test_one_that_needs_more_libraries_than_are_read_is_an_error():
    many = tuple(f"lib{number}.so" for number in range(101))
    assert len(parse_nccl_library(nccl_library(needed=many[:100]))["needed"]) == 100
    assert parse_nccl_library(nccl_library(needed=many)).why == "error"


@pytest.mark.parametrize(("offset", "size"), [(0, 1 << 62), (1 << 62, 8), (0, 17 << 20), (0, 1 << 40)])
def test_a_section_that_is_too_large_or_elsewhere_is_an_error(offset, size):
    """The size of .rodata, the first section, in the table at the end."""
    table = struct.unpack_from("<Q", WHOLE, 40)[0]
    row = table + 64
    spoiled = WHOLE[: row + 24] + struct.pack("<QQ", offset, size) + WHOLE[row + 40 :]
    assert parse_nccl_library(spoiled).why == "error"


@pytest.mark.parametrize("offset", [1 << 62, 1 << 63, (1 << 64) - 1])
def test_no_place_in_a_file_is_too_far_for_the_kernel(tmp_path, offset):
    """pread(2) takes no offset of 64 bits."""
    row = struct.unpack_from("<Q", WHOLE, 40)[0] + 64
    (tmp_path / "libnccl.so").write_bytes(WHOLE[: row + 24] + struct.pack("<Q", offset) + WHOLE[row + 32 :])
    assert Source(live_backend(str(tmp_path), "image")).nccl_library("/libnccl.so").why == "error"


def test_a_sparse_file_of_a_gigabyte_and_a_fifo_cost_nothing(tmp_path):
    with open(tmp_path / "libnccl.so.2", "wb") as stream:
        stream.truncate(1 << 30)
    os.mkfifo(tmp_path / "libnccl-net.so")
    (tmp_path / "libnccl-tuner.so").mkdir()
    with open(tmp_path / "libnccl.so", "wb") as stream:
        stream.write(WHOLE)
        stream.truncate(1 << 30)
    source = Source(live_backend(str(tmp_path), "image"))
    started = time.process_time()
    assert source.nccl_library("/libnccl.so").version == "2.28.9"
    for name in ("libnccl.so.2", "libnccl-net.so", "libnccl-tuner.so"):
        assert source.nccl_library(f"/{name}").why == "error"
    assert source.nccl_library("/libnccl.so.3").why == "absent"
    assert time.process_time() - started < 1


@pytest.mark.parametrize("answer", [{}, [], "2.28.9", {"version": "2.28.9", "cuda": "", "needed": [1], "paths": [], "symbols": []}, None])
def test_an_answer_of_another_form_is_an_error(answer):
    class Told:
        kind = "live"

        def ask(self, *_):
            return answer

    assert Source(Told()).nccl_library("/x").why == "error"
