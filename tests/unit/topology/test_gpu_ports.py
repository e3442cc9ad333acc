"""Bridges above GPUs that PCIe alone joins: which hosts are asked, and what a pair of GPUs is."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.nccl.peer_level import peer_level
from hostagent.domains.topology.read_pci import DEVICES
from hostagent.domains.topology.read_topology import read_topology
from hostagent.facts.nccl import Nccl, NcclSetting
from hostagent.testing import host

GPUS = {"0000:01:00.0": "0000:00:01.1", "0000:a1:00.0": "0000:a0:01.1"}
ASKED = "pci_controls 0000:00:01.1 0000:a0:01.1"
ROW = {"acs": 0x1D, "control": 0x2930, "fatal": "0"}
NONE = Unread("absent", "none")


def workstation(*, device="0x26b3", driver="nvidia", **answers):
    """Two GPUs on root ports of their own, and no NIC."""
    files = {}
    for number, (address, port) in enumerate(GPUS.items()):
        path = f"/sys/devices/pci{port[:7]}/{port}/{address}"
        files[f"{DEVICES}/{address}"] = ("link", path)
        files |= {f"{path}/class": "0x030000\n", f"{path}/vendor": "0x10de\n", f"{path}/device": f"{device}\n"}
        files[f"{path}/iommu_group"] = ("link", f"/sys/kernel/iommu_groups/{number}")
        files[f"{path}/driver"] = ("link", f"/sys/bus/pci/drivers/{driver}")
        files[f"/sys/kernel/iommu_groups/{number}/type"] = "DMA-FQ\n"
    return host({**files, ASKED: dict.fromkeys(GPUS.values(), ROW), **answers})


def ports(source):
    found = read_topology(source, None).gpu_ports
    return found if isinstance(found, Unread) else {one.pci: one for one in found}


def test_the_ports_are_read_and_the_gpus_are_not():
    found = ports(workstation())
    assert sorted(found) == sorted((*GPUS, *GPUS.values()))
    assert [found[port].acs for port in GPUS.values()] == [0x1D, 0x1D]
    assert [found[gpu].iommu for gpu in GPUS] == ["DMA-FQ", "DMA-FQ"]
    assert {found[gpu].acs.why for gpu in GPUS} == {"not-supported"}


@pytest.mark.parametrize(
    "how", [{"device": "0x2330"}, {"device": "0x2941"}, {"driver": "vfio-pci"}], ids=["a board with NVLinks", "C2C", "virtual machines"]
)
def test_a_host_without_a_pair_is_not_asked(how):
    assert ports(workstation(**how)) == {}


def test_what_only_an_administrator_may_read_is_a_gap_of_the_ports_alone():
    denied = Unread("denied", "configuration space", ASKED)
    found = ports(workstation(**{ASKED: denied}))
    assert all(found[port].acs is denied for port in GPUS.values())
    assert found["0000:01:00.0"].iommu == "DMA-FQ"


@pytest.mark.parametrize(
    ("text", "vendor"),
    [
        ("cpu:type:x86,ven0000fam0006mod008F:feature:,0000\n", "intel"),
        ("cpu:type:x86,ven0009fam0018mod0001:feature:,0000\n", "other"),
        ("cpu:type:aarch64:feature:,0000\n", "arm"),
    ],
)
def test_the_vendor_of_the_cpus(text, vendor):
    assert read_topology(workstation(**{"/sys/devices/system/cpu/modalias": text}), None).cpu_vendor == vendor


def nccl(**settings):
    rows = tuple(NcclSetting(name, value, is_known=True, origin="/etc/nccl.conf", line=1, wins=True) for name, value in settings.items())
    return Nccl((), NONE, rows, NONE, NONE)


@pytest.mark.parametrize(
    ("settings", "gpus", "vendor", "reached"),
    [
        ({}, 2, "amd", ["PXB", "PHB", "SYS"]),
        ({}, 4, "amd", ["PXB"]),
        ({}, 2, "intel", ["PXB"]),
        ({"NCCL_P2P_LEVEL": "PHB"}, 2, "intel", ["PXB", "PHB"]),
        ({"NCCL_P2P_LEVEL": "PIX"}, 2, "amd", []),
        ({"NCCL_P2P_DISABLE": "1"}, 2, "amd", []),
    ],
)
def test_how_far_apart_gpus_are_that_nccl_joins(settings, gpus, vendor, reached):
    level = peer_level(nccl(**settings), gpus, vendor)
    assert [word for word in ("PXB", "PHB", "SYS") if level.reaches(word)] == reached
    assert level.is_closed == ("NCCL_P2P_DISABLE" in settings)


def test_settings_that_were_not_read_change_nothing():
    assert peer_level(Unread("denied", "x"), 2, "amd").word == "SYS"
