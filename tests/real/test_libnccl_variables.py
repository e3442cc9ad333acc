"""Real NCCL judges the table of its variables: the names that a library's strings hold, both ways, the defaults in its code, and its version text."""

import contextlib
import mmap
import os
import re
import struct
import subprocess
from collections import defaultdict

import pytest

from hostagent.domains.nccl.read_elf import nccl_library, parse_nccl_library
from hostagent.domains.nccl.tables.changes import parse_nccl_version
from hostagent.domains.nccl.tables.variables import known_to, variables, words
from tests.real.nccl import LIBRARIES, library

#: Constants that messages name, and no variables.
NO_VARIABLES = {
    "NCCL_COMM_PROPERTIES_INITIALIZER",
    "NCCL_CONFIG_INITIALIZER",
    "NCCL_DEV_COMM_REQUIREMENTS_INITIALIZER",
    "NCCL_ENCRYPTION_CONFIG_INITIALIZER",
    "NCCL_GIN_CONNECTION_FULL",
    "NCCL_GIN_CONNECTION_RAIL",
    "NCCL_IB_MAX_DEVS_PER_NIC",
    "NCCL_IB_RECV_WR_ID_DUMMY",
    "NCCL_IB_RESILIENCY_PORT_RECOVERY_ACK_MSG_ID",
    "NCCL_SIM_INFO_INITIALIZER",
}
UNSET, MOST = -(2**31), 2**63 - 1
VERSIONED = [(version, parse_nccl_version(version)) for version in LIBRARIES]


@contextlib.contextmanager
def sections(version):
    """Name to (address, bytes) of the sections with code and constants."""
    with open(library(version), "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        at, count, names = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3C)
        rows = [struct.unpack_from("<IIQQQQ", data, at + 64 * number) for number in range(count)]
        found = {}
        for name, _, _, address, offset, size in rows:
            start = rows[names][4] + name
            text = data[start : data.find(b"\0", start)].decode()
            if text == ".text" or text.startswith(".rodata"):
                found[text] = (address, data[offset : offset + size])
        yield found


def names_in(found):
    """Address to name of each string that is, or ends with, a name."""
    return {
        address + match.start(): match[0].decode()
        for text, (address, data) in found.items()
        if text.startswith(".rodata")
        for match in re.finditer(rb"NCCL_[A-Z0-9_]+(?=\0)", data)
    }


def number_in(code):
    """What this code puts into its second argument (rsi), where it shows that."""
    for match in re.finditer(rb"\x31\xf6|\xbe(?P<short>....)|\x48\xc7\xc6(?P<signed>....)|\x48\xbe(?P<long>.{8})", code, re.DOTALL):
        value = match["short"] or match["signed"] or match["long"]
        yield int.from_bytes(value, "little", signed=True) if value else 0


def is_plausible(value):
    """Bytes of an address inside of an instruction look like numbers, too."""
    return abs(value) <= 10_000 or value in (UNSET, MOST) or (value > 0 and value & (value - 1) == 0)


def defaults_in(found):
    """Name to the numbers that the code hands to ncclLoadParam(name, default, uninitialized, cache): x86_64, lea rdi with lea rcx in one stretch."""
    names, (start, code) = names_in(found), found[".text"]
    told = defaultdict(set)
    for match in re.finditer(rb"\x48\x8d\x3d(....)", code, re.DOTALL):
        name = names.get(start + match.end() + int.from_bytes(match[1], "little", signed=True))
        if name:
            after = re.split(rb"[\xe8\xe9\xc3]", code[match.end() : match.end() + 53], maxsplit=1)[0]
            before = re.split(rb"[\xe8\xe9\xc3]", code[max(0, match.start() - 48) : match.start()])[-1]
            if b"\x48\x8d\x0d" in after + before:
                told[name].update([*number_in(after)][:1] or [*number_in(before)][-1:])
    return {name: {value for value in values if is_plausible(value)} for name, values in told.items()}


@pytest.mark.parametrize(("text", "version"), VERSIONED)
def test_the_names_are_those_in_the_library(text, version):
    with sections(text) as found:
        there = set(names_in(found).values()) - NO_VARIABLES
    assert there == known_to(version), (sorted(there - known_to(version)), sorted(known_to(version) - there))


@pytest.mark.parametrize(("text", "version"), VERSIONED)
def test_the_defaults_are_those_in_its_code(text, version):
    with sections(text) as found:
        told = {name: values.pop() for name, values in defaults_in(found).items() if len(values) == 1}
    names = {UNSET: "unset", MOST: "max"}
    found = {name: (names.get(value, str(value)), variables()[name].default(version)) for name, value in told.items()}
    assert {name: pair for name, pair in found.items() if pair[0] != pair[1]} == {}
    assert len(found) >= 80


def test_exceptions_are_still_needed():
    everything = set()
    for version in LIBRARIES:
        with sections(version) as found:
            everything |= set(names_in(found).values())
    assert everything >= NO_VARIABLES


@pytest.mark.parametrize(("text", "version"), VERSIONED)
def test_the_words_are_in_the_library(text, version):
    with sections(text) as found:
        everything = b"\0".join(data for name, (_, data) in found.items() if name.startswith(".rodata"))
    told = {word for name in known_to(version) for word in words(name, version)} - {"LOC", "NVL", "SYS"}  # these end longer texts
    assert {word for word in told if not re.search(rb"(?<![A-Z0-9])" + word.encode() + rb"\0", everything)} == set()


@pytest.mark.parametrize("version", LIBRARIES)
def test_the_file_says_its_version_without_being_loaded(version):
    with open(library(version), "rb") as file:
        found = nccl_library(file.fileno(), "libnccl.so.2", os.fstat(file.fileno()).st_size)
    assert found["version"] == version
    assert re.fullmatch(r"1[0-9]\.[0-9]", found["cuda"])
    dynamic = subprocess.run(["readelf", "--wide", "--dynamic", library(version)], capture_output=True, text=True, check=True)
    assert found["needed"] == sorted(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic.stdout))
    assert found["symbols"] == ["ncclCommInitRank", "ncclGetVersion"]


def test_a_plug_in_shows_what_it_offers(tmp_path):
    source = "int ncclNetPlugin_v8, ncclNetPlugin_v10, ncclTunerPlugin_v3, ncclNetOther, own; extern int ncclEnvPlugin_v1; int f(void) { return ncclEnvPlugin_v1; }"
    argv = ["gcc", "-shared", "-fPIC", "-x", "c", "-", "-o", tmp_path / "libnccl-net.so", "-Wl,--no-as-needed", "-lm"]
    subprocess.run(argv, input=source, text=True, check=True)
    found = parse_nccl_library((tmp_path / "libnccl-net.so").read_bytes())
    assert found["symbols"] == ["ncclNetPlugin_v10", "ncclNetPlugin_v8", "ncclTunerPlugin_v3"]  # the one that it only wants is not offered
    assert (found["version"], found["needed"]) == ("", ["libc.so.6", "libm.so.6"])
