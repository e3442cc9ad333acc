"""The GPUs that we find are those that lspci finds, here and on trees made at random; `tests.real.test_lstopo` has every tree that we have."""

import re
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostagent.domains.gpu.read_gpus import read_accelerators, read_gpus
from hostagent.host.source import Source
from tests import stub_nvml
from tests.judged import live
from tests.real.conftest import need_real

pytestmark = pytest.mark.alone

_FUNCTION = re.compile(r"^(\S+) ([0-9a-f]{4}): ([0-9a-f]{4}):([0-9a-f]{4}).*\n00: ((?:[0-9a-f]{2} ){4})", re.MULTILINE)


def lspci(tree):
    """(address, class, vendor, device, first bytes of configuration space) of every function, as the real program reads them."""
    program = need_real("lspci", "apt-get install pciutils")
    argv = [program, "-A", "linux-sysfs", "-O", f"sysfs.path={tree}/sys/bus/pci", "-D", "-n", "-x"]
    completed = subprocess.run(argv, capture_output=True, text=True, check=True)
    return _FUNCTION.findall(completed.stdout)


def ours(tree):
    with live(tree) as backend:
        source = Source(backend)
        return read_gpus(source, None), read_accelerators(source, None)


def assert_alike(tree):
    theirs = lspci(tree)
    gpus, accelerators = ours(tree)
    nvidia = {
        address: (device, header) for address, kind, vendor, device, header in theirs if vendor == "10de" and kind in ("0300", "0302")
    }
    others = {address for address, kind, vendor, *_ in theirs if vendor in ("1002", "8086") and kind in ("0300", "0302", "0380", "1200")}
    assert {gpu.pci for gpu in gpus if gpu.on_pci} == set(nvidia)
    assert {one.pci for one in accelerators.others} == others
    for gpu in gpus:
        if gpu.on_pci:
            device, header = nvidia[gpu.pci]
            assert gpu.device_id == f"0x{device}"
            assert gpu.config_readable == (header != "ff ff ff ff ")
    return len(theirs)


def test_on_this_machine():
    assert_alike(Path("/"))


FUNCTIONS = st.dictionaries(
    st.tuples(st.sampled_from([0, 1, 0xFFFF, 0x10000]), st.integers(0, 255), st.integers(0, 31), st.integers(0, 7)),
    st.tuples(
        st.sampled_from([0x10DE, 0x1002, 0x8086, 0x1A03]),
        st.sampled_from([0x030000, 0x030200, 0x038000, 0x120000, 0x068000, 0x020000, 0x040300]),
        st.booleans(),
    ),
    max_size=12,
)


@given(functions=FUNCTIONS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_on_any_set_of_functions(functions, tmp_path_factory):
    tree = tmp_path_factory.mktemp("pci")
    (tree / "sys/bus/pci/devices").mkdir(parents=True)
    for (domain, bus, device, function), (vendor, kind, dead) in functions.items():
        address = f"{domain:04x}:{bus:02x}:{device:02x}.{function}"
        directory = stub_nvml.install_pci(tree, address, vendor=vendor, device=0x2330, kind=kind)
        if dead:
            die(directory)
    assert assert_alike(tree) == len(functions)


def die(directory):
    """As sysfs shows a function that fell off the bus: the kernel remembers its ids, its registers are all ones."""
    (directory / "config").write_bytes(b"\xff" * 64)
    (directory / "current_link_speed").write_text("Unknown\n")
    (directory / "current_link_width").write_text("63\n")
