"""The kernel log's lines about GPUs and NVSwitches."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.gpu.read_events import parse_events, read_events
from hostagent.domains.gpu.sxid_readings import read_sxid
from hostagent.domains.gpu.tables.sxids import CATALOGUE as SXIDS
from hostagent.domains.gpu.tables.xids import CATALOGUE, meaning, weighed_by
from hostagent.facts.gpu import Clearing, GpuEvents
from hostagent.testing import host


def xids(*lines):
    return [(one.pci, one.code, one.count) for one in parse_events(lines).xids]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("NVRM: Xid (PCI:0000:1b:00): 79, pid=4, GPU has fallen off the bus.", ("0000:1b:00.0", 79)),
        ("NVRM: Xid (PCI:0000:1B:00.0): 48, DBE", ("0000:1b:00.0", 48)),
        ("NVRM: Xid (0000:03:00): 14, Channel 00000001", ("0000:03:00.0", 14)),
        ("NVRM: Xid (PCI:0000:01:00): 62, 0096(1c54) 00000000 00000000", ("0000:01:00.0", 62)),
        ("NVRM: Xid (PCI:0000:01:00): 13, pid='<unknown>', name=<unknown>", ("0000:01:00.0", 13)),
        ("NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained: CE User Channel (0x9).", ("0000:01:00.0", 94)),
        ("NVRM: Xid (PCI:0000:3b:00 GPU-I:01 GPU-CI:02): 13, pid=9, name=a, Graphics Exception", ("0000:3b:00.0", 13)),
        ("NVRM: Xid (PCI:10018:01:00): 149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 00", ("10018:01:00.0", 149)),
        ("NVRM: Xid (PCI:00000000:1A:00): 31, x", ("0000:1a:00.0", 31)),
    ],
)
def test_every_shape_that_drivers_print_is_read(line, expected):
    assert xids(line) == [(*expected, 1)]


@pytest.mark.parametrize("line", ["NVRM: Xid (garbled", "NVRM: Xid (PCI:0000:66:00): abc, pid=2", "NVRM: Xid (PCI:zz): 79, x"])
def test_an_xid_line_that_cannot_be_read_is_kept_and_not_dropped(line):
    (one,) = parse_events([line]).xids
    assert (one.code, one.line) == (0, line)


def test_equal_xids_of_one_gpu_are_one_entry_with_a_count_and_the_newest_line():
    lines = ["NVRM: Xid (PCI:0000:1b:00): 13, first", "NVRM: Xid (PCI:0000:2b:00): 13, other", "NVRM: Xid (PCI:0000:1b:00): 13, last"]
    first, other = parse_events(lines).xids
    assert (first.count, first.line.endswith("last"), other.pci) == (2, True, "0000:2b:00.0")


def test_a_fatal_line_is_kept_over_a_newer_one_that_is_not():
    lines = [f"nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, {word}, Link 28" for word in ("Non-fatal", "Fatal", "Non-fatal")]
    assert [(one.count, ", Fatal" in one.line) for one in parse_events(lines).sxids] == [(3, True)]


@pytest.mark.parametrize(
    "lines",
    [
        ["NVRM: GPU at 0000:b3:00.0 has fallen off the bus."],
        ["NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus."],
        [
            "NVRM: The NVIDIA GPU 0000:b3:00.0",
            "NVRM: (PCI ID: 10de:26b5) installed in this system has",
            "NVRM: fallen off the bus and is not responding to commands.",
        ],
        [
            "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\nNVRM: fallen off the bus and is",
        ],
    ],
)
def test_a_gpu_that_fell_off_the_bus_without_an_xid_counts_as_xid_79(lines):
    assert xids(*lines) == [("0000:b3:00.0", 79, 1)]


SWITCH = "nvidia-nvswitch3: SXid (PCI:0000:0a:00.0): "
MORE = ["22013, Severity 0 Engine instance 60 Sub-engine instance 00", *["22013, Data {0x0000003c, 0x00000000}"] * 2]


def test_what_the_driver_writes_after_a_switch_fault_is_part_of_it():
    first = [f"22013, Non-fatal, Link {link} Minion Link DLREQ interrupt" for link in (60, 61)]
    lines = [SWITCH + line for head in first for line in (head, *MORE)]
    (one,) = parse_events(lines, map(float, range(len(lines)))).sxids
    assert (one.line, one.count, one.first, one.seconds, one.burst) == (SWITCH + first[1], 2, 0.0, 4.0, 2)
    (alone, other) = parse_events([SWITCH + line for line in (first[0], MORE[0].replace("22013", "12033"))]).sxids
    assert (alone.count, other.code, other.count) == (1, 12033, 1)


def test_the_details_of_a_switch_fault_that_the_log_has_lost_are_one():
    (one,) = parse_events([SWITCH + line.replace("Severity 0", "Severity 1") for line in MORE]).sxids
    assert (one.count, one.line, read_sxid(one).weight) == (1, SWITCH + MORE[0].replace("Severity 0", "Severity 1"), "fatal")


def test_the_details_of_a_switch_fault_that_was_cleared_begin_no_other():
    found = parse_events(
        [SWITCH + line for line in ("22013, Non-fatal, Link 60", *MORE)], [1.0, 2.0, 3.0, 4.0], (Clearing("", 1.0, 1.5, "r"),)
    )
    assert [(one.count, one.ended_by) for one in found.sxids] == [(1, "cleared")]


@pytest.mark.parametrize(
    ("code", "words", "weight", "step"),
    [
        (22013, "Non-fatal, Link 1", "none", "none"),
        (11012, "Non-fatal, Link 1", "none", "none"),
        (20001, "Non-fatal, Link 1", "none", "none"),
        (20012, "Non-fatal, Link 1", "non-fatal", "rerun"),
        (12028, "Non-fatal, Link 1", "stalls", "reset_gpu"),
        (11004, "Non-fatal, Link 1", "stalls", "reset_gpu"),
        (19084, "Non-fatal, Link 1", "stalls", "reset_gpu"),
        (12020, "Non-fatal, Link 1", "non-fatal", "reboot"),
        (9, "Non-fatal, Link 1", "non-fatal", "reboot"),
        (9, "Fatal, Link 1", "fatal", "reboot"),
        (22013, "Fatal, Link 1", "fatal", "reboot"),
    ],
)
def test_a_switch_fault_weighs_by_its_line_then_by_its_code(code, words, weight, step):
    reading = read_sxid(parse_events([f"{SWITCH}{code}, {words}"]).sxids[0])
    assert (reading.weight, reading.meaning.action[0].action) == (weight, step)


def test_every_sxid_has_a_meaning_that_fits_a_headline_and_steps():
    assert [one for one in SXIDS.values() if len(f"An NVSwitch logged SXid {one.code}: {one.meaning}") > 90 or not one.action] == []
    assert {one.action[0].action for one in SXIDS.values() if one.effect == "none"} == {"none"}


def test_a_switch_fault_is_no_gpu_fault():
    found = parse_events(["nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, Non-fatal, Link 28 RX Short Error Rate"])
    assert (found.xids, [(one.pci, one.code) for one in found.sxids]) == ((), [("0000:c3:00.0", 20009)])


@pytest.mark.parametrize(
    ("line", "pci", "kind"),
    [
        ("NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x40:2028)", "0000:01:00.0", "adapter"),
        ("NVRM: RmInitAdapter failed! (0x24:0x40:1220)", "", "adapter"),
        ("NVRM: GPU 0000:01:00.0: rm_init_adapter failed, device minor number 0", "0000:01:00.0", "adapter"),
        ("NVRM: rm_init_adapter(0) failed", "", "adapter"),
        ("NVRM: RmInitAdapter: Cannot initialize GSP firmware RM", "", "gsp"),
        ("NVRM: GPU0 RmInitAdapter: Cannot initialize GSP firmware RM", "", "gsp"),
        ("NVRM: kgspInitRm_IMPL: failed to extract VBIOS image from ROM: 0x25", "", "gsp"),
        ("NVRM: GPU7 _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP", "", "wpr2"),
        ("NVRM: RmFetchGspRmImages: No firmware image found", "", "firmware"),
        ("NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP", "", "wpr2"),
        (
            "nvidia 0000:01:00.0: Direct firmware load for nvidia/580.142/gsp_ga10x.bin failed with error -2",
            "0000:01:00.0",
            "firmware",
        ),
    ],
)
def test_a_gpu_that_does_not_start_is_told_by_its_kind(line, pci, kind):
    (one,) = parse_events([line]).init_failures
    assert (one.pci, one.kind) == (pci, kind)


def test_ordinary_lines_are_no_events():
    lines = [
        "nouveau 0000:01:00.0: Direct firmware load for nvidia/gp107/gr/sw_nonctx.bin failed with error -2",
        "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.142  Release Build  (builder)",
        "nvidia-nvlink: Nvlink Core is being initialized, major device number 510",
        "nvidia 0000:01:00.0: vgaarb: VGA decodes changed",
        "nvidia-uvm: Loaded the UVM driver, major device number 507.",
    ]
    assert parse_events(lines)[:3] == ((), (), ())


def test_a_log_that_may_not_be_read_leaves_every_fact_of_it_unread():
    denied = Unread("denied", "/dev/kmsg")
    assert read_events(host({"kernel_log": denied}), None) == GpuEvents(*[denied] * 7, ())


@pytest.mark.parametrize("answer", [{}, {"lines": "x", "complete": True}, {"lines": [1], "complete": True}, [], "x"])
def test_a_log_of_another_shape_is_an_error_and_not_an_empty_log(answer):
    assert read_events(host({"kernel_log": answer}), None).xids.why == "error"


def test_a_log_that_does_not_say_whether_it_is_complete_is_unread_in_that_alone():
    events = read_events(host({"kernel_log": {"lines": [], "complete": "yes"}}), None)
    assert (events.xids, events.log_complete.why) == ((), "error")


@given(st.lists(st.text()))
def test_any_text_gives_facts(lines):
    parse_events(lines)


@given(
    st.lists(
        st.sampled_from(
            ["NVRM: ", "Xid (", "SXid (", "PCI:", "0000:1b:00", ".0", ")", ": ", "79", ", ", "GPU ", "\\x0a", "fallen off the bus"]
        )
    )
)
def test_any_pieces_of_an_xid_line_give_facts(pieces):
    parse_events(["".join(pieces)])


def test_a_large_log_takes_little_time():
    lines = ["NVRM: Xid (PCI:0000:1b:00): 13, " + "x" * 200] * 20_000 + ["NVRM: Xid (" * 50_000, "GPU " * 200_000]
    started = time.perf_counter()
    assert xids(*lines)[0] == ("0000:1b:00.0", 13, 20_000)
    assert time.perf_counter() - started < 5


def test_the_catalogue_says_what_to_do_about_every_fault():
    assert [row.code for row in CATALOGUE.values() if not row.meaning or (row.kind != "notice" and not row.action)] == []
    assert all(code == row.code for code, row in CATALOGUE.items())


@pytest.mark.parametrize(
    ("kind", "codes"),
    [("critical", (48, 64, 74, 79, 95, 119, 120, 140)), ("warning", (63, 94, 4711)), ("application", (13, 31, 43, 45))],
)
def test_a_code_is_weighed_by_nvidias_action_for_it(kind, codes):
    assert {meaning(code).kind for code in codes} == {kind}


def test_the_message_that_goes_with_an_xid_79_is_no_second_fall():
    lines = ["NVRM: Xid (PCI:0000:9d:00): 79, pid=4, GPU has fallen off the bus.", "NVRM: GPU 0000:9d:00.0: GPU has fallen off the bus."]
    assert [(one.code, one.count) for one in parse_events(lines).xids] == [(79, 1)]


LOADED = "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build"
NONE = "NVRM: Xid (PCI:0000:{}:00): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)"
WANTED = "NVRM: Xid (PCI:0000:{}:00): 154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)"
FELL = "NVRM: Xid (PCI:0000:{}:00): 79, pid=4, GPU has fallen off the bus."


def eras(*lines, times=()):
    return [(one.pci[5:7], one.code, one.ended_by) for one in parse_events(lines, times).xids]


def test_a_reset_ends_what_came_before_it_on_that_gpu_alone():
    found = eras(FELL.format("1b"), WANTED.format("1b"), FELL.format("43"), NONE.format("1b"), FELL.format("1b"))
    assert found == [("1b", 79, "reset"), ("1b", 154, "reset"), ("43", 79, ""), ("1b", 79, "")]


def test_a_load_of_the_driver_ends_what_came_before_it_on_every_device():
    switch = "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
    failed = "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x40:2028)"
    found = parse_events([LOADED, FELL.format("1b"), switch, failed, LOADED, FELL.format("1b"), switch])
    assert [one.ended_by for one in found.xids] == ["load", ""]
    assert [one.ended_by for one in found.sxids] == ["load", ""]
    assert [one.ended_by for one in found.init_failures] == ["load"]


@pytest.mark.parametrize(
    "line",
    [
        "NVRM: Xid (PCI:0000:1b:00): 13, pid=1, name=to 0x0 (None)",
        "NVRM: Xid (PCI:zz): 154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)",
        WANTED.format("1b"),
        "NVRM: loading",
        "a[1]: NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64",
        "NVRM: API mismatch: the client has the version\n" + LOADED,
    ],
)
def test_nothing_else_ends_a_fault(line):
    assert eras(FELL.format("1b"), line)[0] == ("1b", 79, "")


def test_a_fault_says_when_it_was_and_when_it_ended():
    (one,) = parse_events([FELL.format("1b"), FELL.format("1b"), NONE.format("1b")], [5.0, 6.5, 9.0]).xids
    assert (one.count, one.seconds, one.ended_at) == (2, 6.5, 9.0)


def test_records_without_a_time_keep_their_order():
    (one,) = parse_events([FELL.format("1b"), NONE.format("1b")]).xids
    assert (one.seconds.why, one.ended_by, one.ended_at.why) == ("not-recorded", "reset", "not-recorded")


def test_the_message_after_a_reset_and_a_new_fall_counts_anew():
    gone = "NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus."
    assert eras(FELL.format("1b"), gone, NONE.format("1b"), gone) == [("1b", 79, "reset"), ("1b", 79, "")]


def test_how_far_a_log_reaches_back_is_told_by_its_first_record_and_the_clock():
    log = {"lines": [], "complete": False, "oldest": 880000.0}
    found = read_events(host({"kernel_log": log, "host": {"now": 1763640000.0 + 885600}, "/proc/stat": "btime 1763640000\n"}), None)
    assert (found.log_oldest, found.uptime) == (880000.0, 885600.0)


def test_a_codes_kind_names_its_source():
    assert "device plugin" in weighed_by(109)
    assert "device plugin" not in weighed_by(79)
    assert weighed_by(79).startswith("critical")
