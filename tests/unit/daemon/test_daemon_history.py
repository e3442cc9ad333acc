"""What the daemon remembers of a boot: faults that the log has lost, links that went down, loads of the driver."""

import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.tables.kernel_log import RECOVERED
from hostagent.core.unread import Unread
from hostagent.daemon import kernel_history
from hostagent.daemon.history import DOWNS, FAULTS, FRESH, advance, dump, load, with_history
from hostagent.domains.gpu.read_events import parse_events
from hostagent.domains.gpu.read_kernel_words import Line, parse_words
from hostagent.facts.gpu import Clearing, GpuEvents
from hostagent.facts.history import History, KernelFault
from hostagent.facts.host import Identity
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.kernel import Kernel
from hostagent.facts.kernel_words import KernelWords
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import PciPlace, Topology

BOOTED_AT = 1_000_000.0
GAP = Unread("not-recorded", "of no account here")
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=4, GPU has fallen off the bus."
RESET = f"NVRM: Xid (PCI:0000:1b:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required){RECOVERED}"
LOADED = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64"


def made(kind, **values):
    return kind(**{**{one.name: GAP for one in fields(kind)}, **values})


def log(*records, complete=True, oldest=0.0, cleared=()):
    found = parse_events([text for _, text in records], [at for at, _ in records], cleared)
    return GpuEvents(found.xids, found.sxids, found.init_failures, complete, oldest, GAP, found.ends, cleared)


def facts(events=None, ports=(), boot_id="b", booted_at=BOOTED_AT):
    values = {Identity: made(Identity, boot_id=boot_id), Kernel: made(Kernel, booted_at=booted_at), RdmaPort: tuple(ports)}
    return HostFacts({**values, GpuEvents: log() if events is None else events})


def port(state, downed=GAP):
    return made(RdmaPort, name="mlx5_0:1", state=state, link_downed=downed)


def passes(*steps):
    """The memory after passes at these seconds since the boot."""
    memory = FRESH
    for at, found in steps:
        memory = advance(memory, found, BOOTED_AT + at)
    return memory


def told(memory):
    return [(one.kind, one.xid.code, one.lost, one.xid.ended_by, one.xid.count, one.first) for one in memory.history.faults]


def lost_by_the_log(*records, oldest=50.0, cleared=()):
    """A fault at 5 s, and then a log that begins later."""
    return passes((10, facts(log((5.0, XID)))), (60, facts(log(*records, complete=False, oldest=oldest, cleared=cleared))))


def test_a_fault_that_the_log_has_lost_goes_on():
    assert told(lost_by_the_log()) == [("xid", 79, True, "", 1, 5.0)]


def test_a_log_that_reaches_back_to_the_boot_and_does_not_have_it_is_another_log():
    assert told(passes((10, facts(log((5.0, XID)))), (60, facts(log())))) == []


def test_a_log_that_reaches_back_to_the_fault_and_does_not_have_it_is_another_log():
    assert told(lost_by_the_log(oldest=4.0)) == []


@pytest.mark.parametrize(
    ("record", "ended_by"), [((55.0, RESET), "reset"), ((55.0, LOADED), "load"), ((55.0, RESET.replace("1b", "3b")), "")]
)
def test_a_later_record_ends_what_the_log_has_lost(record, ended_by):
    assert told(lost_by_the_log(record))[0][:4] == ("xid", 79, True, ended_by)


@pytest.mark.parametrize(
    ("word", "ended_by"),
    [
        (Clearing("", 50.0, 60.0, "r"), "cleared"),
        (Clearing("0000:1b:00.0", 50.0, 60.0, "r"), "cleared"),
        (Clearing("0000:3b:00.0", 50.0, 60.0, "r"), ""),
        (Clearing("", 4.0, 60.0, "r"), ""),
    ],
)
def test_an_administrator_ends_what_the_log_has_lost(word, ended_by):
    assert told(lost_by_the_log(cleared=(word,)))[0][3] == ended_by


def test_newer_records_of_a_fault_are_counted_with_the_lost_ones():
    assert told(lost_by_the_log((55.0, XID), (56.0, XID))) == [("xid", 79, False, "", 3, 5.0)]


def test_records_after_the_end_are_a_fault_of_their_own():
    assert told(lost_by_the_log((52.0, RESET), (55.0, XID))) == [("xid", 79, True, "reset", 1, 5.0), ("xid", 79, False, "", 1, 55.0)]


def test_one_log_read_twice_is_counted_once():
    events = log((5.0, XID), (6.0, XID))
    assert told(passes((10, facts(events)), (70, facts(events)))) == [("xid", 79, False, "", 2, 5.0)]


def test_a_log_that_could_not_be_read_changes_nothing():
    denied = Unread("denied", "/dev/kmsg")
    memory = passes((10, facts(log((5.0, XID)))), (60, facts(GpuEvents(*[denied] * 8))))
    assert told(memory) == [("xid", 79, False, "", 1, 5.0)]


def test_another_boot_knows_nothing_of_this_one():
    memory = passes((10, facts(log((5.0, XID)), [port("ACTIVE")])), (20, facts(boot_id="c", ports=[port("DOWN")])))
    assert memory.boot_id == "c"
    assert told(memory) == []
    assert memory.history.link_downs == ()


def test_faults_are_bounded_and_what_has_ended_goes_first():
    records = [(float(code), f"NVRM: Xid (PCI:0000:1b:00): {code}, x") for code in range(1000, 1000 + FAULTS)]
    memory = passes((5000, facts(log((1.0, XID), (2.0, RESET), *records))))
    assert len(memory.history.faults) == FAULTS
    assert all(not one.xid.ended_by for one in memory.history.faults)


@pytest.mark.parametrize(
    ("before", "after", "times"),
    [
        (port("ACTIVE"), port("DOWN"), (70.0,)),
        (port("ACTIVE"), port("INIT"), (70.0,)),
        (port("DOWN"), port("DOWN"), None),
        (port("DOWN"), port("ACTIVE"), None),
        (port("ACTIVE"), port(GAP), None),
        (port("ACTIVE", 3), port("ACTIVE", 5), (40.0, 70.0)),
        (port("ACTIVE", 3), port("DOWN", 4), (70.0,)),
        (port("ACTIVE", 3), port("ACTIVE", 0), None),
    ],
)
def test_a_link_is_seen_to_go_down(before, after, times):
    downs = passes((10, facts(ports=[before])), (70, facts(ports=[after]))).history.link_downs
    assert [one.times for one in downs] == ([] if times is None else [times])


def test_a_port_that_was_gone_for_a_pass_is_compared_with_what_it_was():
    memory = passes((10, facts(ports=[port("ACTIVE")])), (20, facts()), (30, facts(ports=[port("DOWN")])))
    assert [one.times for one in memory.history.link_downs] == [(30.0,)]


def test_link_downs_are_bounded():
    memory = passes((10, facts(ports=[port("ACTIVE", 0)])), (70, facts(ports=[port("ACTIVE", 10**9)])))
    assert [len(one.times) for one in memory.history.link_downs] == [DOWNS]


def test_loads_of_the_driver_outlive_the_log():
    memory = passes((10, facts(log((5.0, LOADED)))), (60, facts(log((55.0, LOADED), complete=False, oldest=50.0))))
    assert memory.history.driver_loads == (5.0, 55.0)


@pytest.mark.parametrize(
    ("steps", "since"),
    [
        ([(10, log())], 0.0),
        ([(10, log(complete=False, oldest=5.0))], 10.0),
        ([(10, log()), (60, log(complete=False, oldest=8.0))], 0.0),
        ([(10, log()), (60, log(complete=False, oldest=50.0))], 60.0),
        ([(10, log(complete=False, oldest=5.0)), (60, log(complete=False, oldest=6.0))], 10.0),
    ],
    ids=["whole", "later", "whole-once", "gap", "no-gap"],
)
def test_it_knows_from_when_on_it_has_seen_the_log(steps, since):
    assert passes(*((at, facts(events)) for at, events in steps)).history.since == since


def test_a_clock_that_is_set_back_changes_no_time():
    memory = advance(FRESH, facts(ports=[port("ACTIVE")]), BOOTED_AT + 10)
    memory = advance(memory, facts(ports=[port("DOWN")], booted_at=BOOTED_AT - 5000), BOOTED_AT - 5000 + 70)
    assert memory.history.now == 70.0
    assert [one.times for one in memory.history.link_downs] == [(70.0,)]


def test_it_stands_in_place_of_what_one_pass_knows():
    memory = lost_by_the_log()
    assert with_history(facts(), memory).of(History) is memory.history


def test_what_was_written_is_read_back():
    memory = lost_by_the_log((55.0, LOADED))
    assert load(dump(memory), "b") == (memory, "")


def test_what_another_boot_wrote_is_forgotten_without_a_word():
    assert load(dump(lost_by_the_log()), "c") == (FRESH, "")


@pytest.mark.parametrize("text", ["", "{", "[]", "{" * 100_000, '{"boot_id": 1}', "null", '{"boot_id": "b", "history": NaN}'])
def test_a_damaged_file_is_a_fresh_memory_and_is_said(text):
    memory, problem = load(text, "b")
    assert memory == FRESH
    assert problem


RECORDS = st.lists(st.tuples(st.floats(1, 100), st.sampled_from([XID, RESET, LOADED, XID.replace("79", "48")])), max_size=6)


@given(st.lists(st.tuples(RECORDS, st.booleans(), st.floats(0, 100)), max_size=5))
def test_whatever_logs_come_it_goes_through_its_file(logs):
    memory = FRESH
    for number, (records, complete, oldest) in enumerate(logs):
        memory = advance(memory, facts(log(*sorted(records), complete=complete, oldest=oldest)), BOOTED_AT + 10 * number)
        assert load(dump(memory), "b") == (memory, "")


NONFATAL = "NVRM: Xid (PCI:0000:1b:00): 145, RLW_SRC_TRACK Nonfatal XC1 i0 Link {:02} (0x04085a07 0x00000004)"


def test_links_burst_and_the_worst_line_outlive_the_log():
    fatal = NONFATAL.format(3).replace("Nonfatal", "Fatal").replace("XC1", "XC0")
    first = [(5.0 + at, NONFATAL.format(at)) for at in range(9)]
    memory = passes((20, facts(log(*first, (15.0, fatal)))), (60, facts(log((55.0, NONFATAL.format(17)), complete=False, oldest=50.0))))
    (one,) = [fault.xid for fault in memory.history.faults]
    assert (one.line, one.links, one.burst, one.count) == (fatal, (*range(9), 17), 10, 11)


def test_a_history_that_was_written_before_links_and_bursts_were_counted_is_read():
    memory = passes((10, facts(log((5.0, XID)))))
    older = json.loads(dump(memory))
    for fault in older["history"]["faults"]:
        del fault["xid"]["links"], fault["xid"]["burst"]
    loaded = load(json.dumps(older), "b")
    assert (loaded.problem, loaded.memory.history.faults[0].xid.code) == ("", 79)


RESET_REQUIRED = (
    "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from x @ a.c:1"
)


def words(*records, complete=True, oldest=0.0, cleared=()):
    found = parse_words("gpu", [Line(text, at) for at, text in records], cleared)
    empty = dict.fromkeys(("module", "pci", "nic", "memory", "volume"), ())
    return KernelWords(gpu=found.events, ends=found.ends, log_complete=complete, log_oldest=oldest, cleared=cleared, **empty)


def after(*steps):
    """The events of the memory after passes that read these."""
    memory = FRESH
    for at, found in steps:
        memory = advance(memory, facts().replaced(KernelWords, found), BOOTED_AT + at)
    return [(one.event.row, one.is_lost, one.event.ended_by, one.event.count) for one in memory.history.kernel_events]


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        (words(complete=False, oldest=50.0), [("reset-required", True, "", 1)]),
        (words((55.0, LOADED), complete=False, oldest=50.0), [("reset-required", True, "load", 1)]),
        (
            words(complete=False, oldest=50.0, cleared=(Clearing("", 20.0, 21.0, "tested"),)),
            [("reset-required", True, "cleared", 1)],
        ),
        (words((56.0, RESET_REQUIRED), complete=False, oldest=50.0), [("reset-required", False, "", 2)]),
        (words((5.0, RESET_REQUIRED)), [("reset-required", False, "", 1)]),
        (words(), []),  # another log
        (words(complete=False, oldest=4.0), []),
        (GAP, [("reset-required", False, "", 1)]),
    ],
)
def test_other_words_of_the_kernel_go_on_as_faults_do(later, expected):
    assert after((10, words((5.0, RESET_REQUIRED))), (60, later)) == expected


@pytest.mark.parametrize(("bridge", "at", "ended"), [("15:01.0", 6.0, "recovered"), ("15:01.0", 4.0, ""), ("e0:03.1", 6.0, "")])
def test_a_recovery_of_the_bridge_above_is_remembered(bridge, at, ended):
    record = "pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from 0000:1b:00.0"
    recovery = f"pcieport 0000:{bridge}: AER: device recovery successful"
    found = parse_words("pci", sorted((Line(record, 5.0), Line(recovery, at)), key=lambda one: one.seconds))
    seen = replace(words(), pci=found.events, ends=found.ends)
    place = PciPlace("0000:1b:00.0", "pci0000:15", ("0000:15:01.0",))
    events = kernel_history.advance((), seen, made(Topology, places=(place,)))
    assert [one.event.ended_by for one in events] == [ended]
    later = replace(seen, pci=(), ends=(), log_complete=False, log_oldest=50.0)
    assert [one.event.ended_by for one in kernel_history.advance(events, later)] == [ended]


def test_a_file_of_a_release_before_kernel_words_is_read():
    memory = passes((10, facts(log((5.0, XID)))))
    old = json.loads(dump(memory))
    del old["history"]["kernel_events"]
    loaded = load(json.dumps(old), "b")
    assert (loaded.problem, told(loaded.memory)) == ("", told(memory))


def test_kernel_words_are_written_and_read_back():
    memory = advance(FRESH, facts().replaced(KernelWords, words((5.0, RESET_REQUIRED))), BOOTED_AT + 10)
    again = load(dump(memory), "b").memory
    assert again == memory
    assert isinstance(again.history.kernel_events[0], KernelFault)
