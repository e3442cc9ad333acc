"""How GPUs, RDMA cards and their bridges are set up, from a dictionary as a host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.topology.read_controls import control_of
from hostagent.domains.topology.read_pci import DEVICES
from hostagent.domains.topology.read_topology import read_topology
from hostagent.testing import host

GPU, NIC, ETHERNET = "0000:1b:00.0", "0000:1a:00.0", "0000:06:00.0"
ROOT, UP, TO_GPU, TO_NIC = "0000:16:01.0", "0000:17:00.0", "0000:18:00.0", "0000:18:01.0"
ASKED = f"pci_controls {ROOT} {UP} {TO_GPU} {TO_NIC} {NIC} {GPU}"
ROW = {"acs": 0, "control": 0x2930, "fatal": "0"}


def machine(*, rdma=True, **answers):
    """A GPU and a NIC below one switch, and a NIC without RDMA elsewhere."""
    places = {
        GPU: ("0x030200", f"/sys/devices/pci0000:16/{ROOT}/{UP}/{TO_GPU}/{GPU}", "7"),
        NIC: ("0x020700", f"/sys/devices/pci0000:16/{ROOT}/{UP}/{TO_NIC}/{NIC}", "8"),
        ETHERNET: ("0x020000", f"/sys/devices/pci0000:00/{ETHERNET}", "9"),
    }
    files = {}
    for address, (kind, path, group) in places.items():
        files[f"{DEVICES}/{address}"] = ("link", path)
        files |= {f"{path}/class": f"{kind}\n", f"{path}/vendor": "0x10de\n" if address == GPU else "0x15b3\n"}
        files[f"{path}/iommu_group"] = ("link", f"/sys/kernel/iommu_groups/{group}")
        files[f"/sys/kernel/iommu_groups/{group}/type"] = "identity\n"
    if rdma:
        files[f"{places[NIC][1]}/infiniband/mlx5_0/fw_ver"] = "28.43.2026\n"
    return host({**files, ASKED: dict.fromkeys((ROOT, UP, TO_GPU, TO_NIC, NIC, GPU), ROW), **answers})


def controls(source):
    found = read_topology(source, None).controls
    return found if isinstance(found, Unread) else {one.pci: one for one in found}


def test_gpus_cards_with_rdma_and_their_bridges_are_asked_about_in_one_question():
    found = controls(machine())
    assert list(found) == [ROOT, UP, TO_GPU, TO_NIC, NIC, GPU]
    one = found[GPU]
    assert (one.acs, one.max_read_request, one.max_payload, one.iommu, one.fatal_errors) == (0, 512, 256, "identity", 0)
    assert found[ROOT].iommu.why == "not-supported"


def test_nothing_is_asked_of_a_host_without_rdma():
    assert controls(machine(rdma=False)) == {}


def test_what_only_an_administrator_may_read_is_one_gap_and_the_iommu_is_read_nevertheless():
    denied = Unread("denied", "configuration space", "pci_controls x")
    found = controls(machine(**{ASKED: denied}))
    assert all(one.acs is denied and one.max_payload is denied and one.fatal_errors is denied for one in found.values())
    assert found[NIC].iommu == "identity"


def test_a_snapshot_that_lacks_the_answer_says_so_in_a_few_words():
    gap = Unread("not-recorded", "x" * 999, ASKED)
    found = controls(machine(**{ASKED: gap}))[GPU].acs
    assert (found.why, found.question) == ("not-recorded", ASKED)
    assert len(found.detail) < 80


def test_without_an_iommu_no_device_has_a_group():
    files = {f"/sys/devices/pci0000:16/{ROOT}/{UP}/{TO_GPU}/{GPU}/iommu_group": Unread("absent", "none")}
    assert controls(machine(**{f"readlink {DEVICES}/{GPU}/iommu_group": Unread("absent", "none"), **files}))[GPU].iommu == ""


@pytest.mark.parametrize(
    ("row", "field", "why"),
    [
        ({"acs": {"unread": ["not-supported", "no ACS"]}}, "acs", "not-supported"),
        ({"acs": {"unread": ["denied", "read"]}}, "acs", "denied"),
        ({"acs": {"unread": ["whatever", "read"]}}, "acs", "error"),
        ({"acs": {"unread": "denied"}}, "acs", "error"),
        ({"acs": 0xFFFF}, "acs", "error"),
        ({"acs": True}, "acs", "error"),
        ({"acs": -1}, "acs", "error"),
        ({"control": 0x7930}, "max_read_request", "error"),
        ({"control": 0x29F0}, "max_payload", "error"),
        ({"control": 0xFFFF}, "max_payload", "error"),
        ({"fatal": "TOTAL_ERR_FATAL"}, "fatal_errors", "error"),
        ({"fatal": None}, "fatal_errors", "error"),
        ({}, "fatal_errors", ""),
    ],
)
def test_what_is_no_answer_is_a_gap_of_that_field_alone(row, field, why):
    found = controls(machine(**{ASKED: {**dict.fromkeys((ROOT, UP, TO_GPU, TO_NIC, NIC), ROW), GPU: {**ROW, **row}}}))
    value = getattr(found[GPU], field)
    assert (value.why if isinstance(value, Unread) else "") == why
    assert found[NIC].acs == 0


def test_a_function_that_the_answer_leaves_out_is_a_gap():
    assert controls(machine(**{ASKED: {NIC: ROW}}))[GPU].acs.why == "error"
    assert controls(machine(**{ASKED: {NIC: ROW, GPU: "x"}}))[GPU].acs.why == "error"


def test_a_virtual_function_is_its_cards():
    function = f"/sys/devices/pci0000:16/{ROOT}/{UP}/{TO_NIC}/0000:1a:00.1"
    files = {
        f"{DEVICES}/0000:1a:00.1": ("link", function),
        f"{function}/class": "0x020700\n",
        f"{function}/vendor": "0x15b3\n",
        f"{function}/infiniband/mlx5_9/fw_ver": "1\n",
        f"{function}/physfn": ("link", f"../{NIC}"),
    }
    assert list(controls(machine(rdma=False, **files))) == [ROOT, UP, TO_GPU, TO_NIC, NIC, GPU]


def test_whose_a_function_is_that_nobody_could_see_is_a_gap():
    assert controls(machine(**{f"readlink {DEVICES}/{NIC}/physfn": Unread("denied", "readlink")})).why == "denied"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=8), inner),
)


@given(row=JSON | st.fixed_dictionaries({"acs": JSON, "control": JSON, "fatal": JSON}))
def test_no_answer_makes_a_reader_crash(row):
    found = control_of(GPU, {GPU: row}, "")
    assert all(isinstance(value, int | Unread) for value in (found.acs, found.max_read_request, found.max_payload, found.fatal_errors))
