"""Which host faults count for a job that has ended: those of its GPUs, in its time."""

from dataclasses import replace

import pytest

from hostagent.core.unread import Unread
from hostagent.daemon.record import EMPTY, Fault
from hostagent.engine.catalogue import OURS
from hostagent.engine.catalogue import load as load_checks
from hostagent.facts.gpu import Clearing, Gpu, GpuEvents, Mig, Xid
from hostagent.facts.history import History
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.nvswitch import Fabric
from hostagent.profiles import profile
from hostagent.slurm.programs import jobfaults
from hostagent.slurm.programs.jobfaults import Window

GAP = Unread("not-recorded")
BOOTED, BEGIN = 1_790_000_000.0, 1_790_003_600.0
ALL = Window(BEGIN, None)
PCI = tuple(f"0000:{bus:02x}:00.0" for bus in (0x1B, 0x4C, 0x9D, 0xDB))
FABRIC = Fabric(**dict.fromkeys(Fabric.__dataclass_fields__, GAP))
CHECKS = jobfaults.of_log(load_checks([OURS]))
DEFAULT = profile.load("default", site_file="").profile


def gpu(pci, minor, mig=GAP):
    every = dict.fromkeys(Gpu.__dataclass_fields__, GAP)
    return Gpu(**{**every, "pci": pci, "minor": minor, "index": minor, "mig": mig})


GPUS = tuple(gpu(pci, minor) for minor, pci in enumerate(PCI))


def xid(code=79, at=BEGIN + 60, pci=PCI[2], line="NVRM: Xid", **more):
    seconds = at - BOOTED if isinstance(at, float) else at
    return replace(Xid(pci, code, line, 1, seconds, "", GAP, seconds), **more)


def events(*xids, sxids=(), cleared=()):
    return GpuEvents(xids, sxids, (), True, 0.0, 90_000.0, (), cleared)


def faults(found, asked=ALL, policy=DEFAULT):
    facts = {GpuEvents: found, Gpu: GPUS, Fabric: FABRIC, History: Unread("not-supported")}
    return list(jobfaults.logged(CHECKS, HostFacts(facts), policy, asked, BOOTED))


def with_checks(text):
    return profile.load("default", site_file="", overlay={"checks": text}).profile


def test_a_critical_xid_of_the_jobs_time_counts_with_reason_headline_and_first_step():
    (found,) = faults(events(xid()))
    assert found == ("GpuXid", "GPU 2 (0000:9d:00.0) logged Xid 79: the GPU fell off the bus", "Drain the node.")


@pytest.mark.parametrize("code", [13, 31, 43, 45, 106, 63, 94, 9999])
def test_what_programs_cause_and_what_the_gpu_survives_does_not_count(code):
    assert faults(events(xid(code))) == []


@pytest.mark.parametrize("code", [48, 64, 74, 79, 95, 119, 140])
def test_what_the_gpu_does_not_survive_counts(code):
    assert len(faults(events(xid(code)))) == 1


def test_a_fault_that_the_hardware_recovered_from_does_not_count():
    assert faults(events(xid(145, line="NVRM: Xid (PCI:0000:9d:00): 145, RLW_CTRL Nonfatal XC0 i0"))) == []
    assert faults(events(xid(154, line="GPU recovery action changed from 0x0 (None) to 0x4 (Drain and Reset)"))) == []


@pytest.mark.parametrize(("at", "count"), [(BEGIN - 3.0, 0), (BEGIN - 1.1, 0), (BEGIN - 0.9, 1), (BEGIN, 1), (BEGIN + 1e6, 1), (GAP, 0)])
def test_a_record_counts_from_a_second_before_the_begin_on_and_never_without_a_time(at, count):
    assert len(faults(events(xid(at=at)))) == count


def test_the_newest_line_of_a_fault_that_goes_on_counts():
    assert len(faults(events(xid(first=10.0)))) == 1


@pytest.mark.parametrize("ended_by", ["reset", "load"])
def test_a_fault_of_the_jobs_time_counts_also_where_it_has_ended_since(ended_by):
    assert len(faults(events(xid(ended_by=ended_by, ended_at=BEGIN + 100 - BOOTED)))) == 1


def test_what_an_administrator_has_cleared_does_not_count():
    assert faults(events(xid(ended_by="cleared"))) == []
    assert faults(events(xid(), cleared=(Clearing("", 1e9, 1e9, "known"),))) == []


def test_a_fault_of_another_gpu_does_not_count_and_one_without_an_address_does():
    mine = Window(BEGIN, frozenset(PCI[:2]))
    assert faults(events(xid(pci=PCI[2])), mine) == []
    assert len(faults(events(xid(pci=PCI[1])), mine)) == 1
    assert len(faults(events(xid(pci="")), mine)) == 1


@pytest.mark.parametrize(
    "policy",
    [
        {"gpu.xid": {"off": "we look ourselves"}},
        {"gpu.xid": {"severity": "warning"}},
        {"gpu.xid": {"except": [PCI[2]]}},
        {"gpu.xid": {"params": {"ignore": [62, 79]}}},
        {"gpu.xid": {"params": {"ignore": "62, 79"}}},
    ],
)
def test_what_the_profile_takes_out_of_the_verdict_does_not_count(policy):
    assert faults(events(xid()), policy=with_checks(policy)) == []
    assert len(faults(events(xid(95, pci=PCI[1])), policy=with_checks({"gpu.xid": {"params": {"ignore": [62, 79]}}}))) == 1


def test_a_fatal_fault_of_a_switch_counts_for_every_job_and_no_other_does():
    switch = "0000:05:00.0"
    fatal = xid(12028, pci=switch, line="nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Fatal, Link 32")
    (found,) = faults(events(sxids=(fatal,)), Window(BEGIN, frozenset(PCI[:1])))
    assert found[:2] == ("NvswitchSxid", "An NVSwitch logged SXid 12028: a request was refused; traffic stalls")
    assert faults(events(sxids=(replace(fatal, code=20009, line=fatal.line.replace("12028, Fatal", "20009, Non-fatal")),))) == []
    assert faults(events(sxids=(replace(fatal, seconds=10.0),))) == []


@pytest.mark.parametrize(
    ("numbers", "wanted"),
    [
        ("0", {PCI[0]}),
        ("1,3", {PCI[1], PCI[3]}),
        ("0-2", set(PCI[:3])),
        ("", None),
        ("7", None),
        ("0,7", None),
        ("nvidia0", None),
        ("-1", None),
    ],
)
def test_slurms_numbers_are_minor_numbers_and_what_cannot_be_mapped_means_all(numbers, wanted):
    found = jobfaults.addresses(numbers, GPUS)
    assert found == (None if wanted is None else frozenset(wanted))


def test_a_gpu_without_a_minor_number_or_with_mig_is_not_mapped():
    gone = (*GPUS[:2], gpu(PCI[2], GAP), GPUS[3])
    assert jobfaults.addresses("2", gone) is None
    assert jobfaults.addresses("1", gone) == {PCI[1]}
    assert jobfaults.addresses("0", (gpu(PCI[0], 0, Mig(True, True)),)) is None


def fault(check="gpu.reset_required", pci=PCI[2], begin=BEGIN + 60):
    return Fault(check, pci, pci, "", "GPU 2 (0000:9d:00.0) needs a reset", begin, 0, "boot")


def from_record(*found, log=None, asked=ALL):
    return list(jobfaults.recorded(CHECKS, replace(EMPTY, faults=found), events() if log is None else log, asked))


def test_a_critical_fault_that_the_daemon_found_first_in_the_jobs_time_counts():
    assert from_record(fault()) == [("GpuResetRequired", "GPU 2 (0000:9d:00.0) needs a reset", "Drain the node.")]
    assert from_record(replace(fault(), end=BEGIN + 90)) == from_record(fault())


def test_of_the_daemons_record_what_began_before_or_is_of_another_gpu_or_of_no_gpu_does_not_count():
    mine = Window(BEGIN, frozenset(PCI[:2]))
    assert from_record(fault(begin=BEGIN - 0.1)) == []
    assert from_record(fault(), asked=mine) == []
    assert from_record(fault("rdma.port_active", "0000:1a:00.0"), fault("host.disk_space", "")) == []
    assert len(from_record(fault("nvswitch.sxid", "0000:05:00.0"), asked=mine)) == 1


def test_of_a_fault_that_the_kernel_log_still_has_the_log_says_when_it_was():
    old = events(xid(at=BEGIN - 30))
    assert from_record(fault("gpu.xid"), log=old) == []
    assert len(from_record(fault("gpu.xid"), log=events())) == 1
    assert len(from_record(fault("gpu.xid"), log=GAP)) == 1
