"""What an Xid's line says after its number, and what follows from it."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.domains.gpu.read_events import parse_events
from hostagent.domains.gpu.tables.nvlink_xids import CODES, NVLINK_FAULTS, REGISTERS, nvlink_fault
from hostagent.domains.gpu.tables.xids import CATALOGUE
from hostagent.domains.gpu.xid_lines import parse_xid_line, recovery_action
from hostagent.domains.gpu.xid_readings import JOB_AGAIN, read_xid
from hostagent.testing import run_case
from tests.checkcases import CASES, CHECKS

HEAD = "NVRM: Xid (PCI:0000:1b:00): "


def xid(text, *more):
    (one,) = parse_events([HEAD + line for line in (text, *more)], map(float, range(1 + len(more)))).xids
    return one


def meaning_of(text, *more):
    """The severity of the GPU's newest fault, its first step, and all steps in words."""
    reading = read_xid(xid(text, *more))
    return reading.meaning.kind, " ".join(f"{step.text} {step.command}" for step in reading.meaning.action)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 06 (0x04085a07 0x00000004)", ("RLW_SRC_TRACK", "nonfatal", 6, (0x04085A07, 4), False)),
        ("145, RLW_SRC_TRACK Nonfatal XC1 i1 Link 06 (0x04085a07", ("RLW_SRC_TRACK", "nonfatal", 6, (), True)),
        ("149, NETIR_LINK_EVT  Fatal   XC 1 i 0 Link -1 [0x0000000a]", ("NETIR_LINK_EVT", "fatal", -1, (10,), False)),
        ("145, pid=4, name=<unknown>, RLW_REMAP Fatal XC0 i0 Link 00 (0x1 0x40)", ("RLW_REMAP", "fatal", 0, (1, 64), False)),
        ("144, SAW_MVB Nonfatal XC0", ("SAW_MVB", "nonfatal", -1, (), False)),
        ("144, SAW_MVB", ("SAW_MVB", "", -1, (), False)),
        ("144,", ("", "", -1, (), False)),
        ("74, NVLink: fatal error detected on link 14(0x100000, 0x0, 0x8)", ("", "fatal", 14, (0x100000, 0, 8), False)),
        ("74, NVLink: error detected on link 2 (0x1)", ("", "", 2, (1,), False)),
    ],
)
def test_a_line_of_nvlink_is_parsed(text, expected):
    found = parse_xid_line(HEAD + text, int(text.partition(",")[0]))
    assert (found.unit, found.severity, found.link, found.words, found.is_injected) == expected


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("31, pid=8, name=a, Ch 00000004, intr 0. MMU Fault: ENGINE CE0 HUBCLIENT_HOST faulted @ 0x0_1000. Fault is of type FAULT_PDE ACCESS_TYPE_READ",
         "engine CE0, FAULT_PDE, ACCESS_TYPE_READ"),
        ("43, pid=3, name=gpu-burner, channel 0x00000010", ""),
        ("48, pid='<unknown>', name=<unknown>, DBE (double bit error) at partition 1, subpartition 2", "partition 1, subpartition 2"),
        ("63, Row Remapper: New row (0x0000000000abcdef) marked for remapping, reset gpu to activate.", "row 0x0000000000abcdef"),
        ("92, Disabling ECC single-bit error interrupts in framebuffer at logical partition 3, due to high error rate", "partition 3"),
        ("95, pid=1, name=b, Uncontained: LTC TAG (0x2,0x0). RST: Yes, D-RST: No", "LTC TAG (0x2,0x0)"),
        ("94, Contained SRAM ECC error", "SRAM"),
        ("109, pid=179, name=pt_main, Ch 00000008, errorString CTX SWITCH TIMEOUT, Info 0x58005", "CTX SWITCH TIMEOUT"),
        ("119, Timeout after 45s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x2 0x8).", "function 76, GSP_RM_CONTROL"),
        ("137, RLW_RXPIPE interrupt hit on link 13", "link 13, RLW_RXPIPE"),
        ("140, An uncorrectable ECC error detected (possible firmware handling failure) DRAM:-2147483648, LTC:2, MMU:0, PCIE:1", "LTC, PCIE"),
        ("156, Retiring TPC 4 from GPC 2 with a spare from the same GPC.", "GPC 2, TPC 4"),
        ("160, Marking LTS 5 in FPB 1 along with its pair for repair. Perform node reboot to activate repair.", ""),
        ("161, Repairing LTS failed as there are no more spare L2 slices.", "LTS"),
        ("171, Double Bit ECC Error in FBPA 4 subpartition 1", "FBPA 4, subpartition 1"),
        ("62, 0096(1c54) 00000000 00000000", ""),
    ],
)  # fmt: skip
def test_the_part_that_was_hit_is_named(text, part):
    assert parse_xid_line(HEAD + text, int(text.partition(",")[0])).part == part


def test_a_nonfatal_fault_asks_for_a_new_start_of_the_job_and_for_nothing_else():
    kind, steps = meaning_of("145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 06 (0x04085a07 0x00000004)")
    assert (kind, steps.startswith(JOB_AGAIN.text)) == ("warning", True)
    assert not re.search("Drain|gpu-reset|reboot|Replace", steps)


@pytest.mark.parametrize(
    ("text", "kind", "word"),
    [
        ("145, RLW_SRC_TRACK Fatal XC0 i0 Link 06 (0x04000007 0x00000010)", "critical", "Reset all GPUs"),
        ("149, NETIR_LINK_DOWN Fatal XC0 i0 Link 06 (0x02500011 0x00000000)", "critical", "other end of the link"),
        ("149, NETIR_LINK_DOWN Fatal XC0 i0 Link 06 (0x02800011 0x00000000)", "critical", "Look at the host"),
        ("149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 03 (0x00086226 0x00000001)", "warning", "cables"),
        ("150, MSE_WATCHDOG Fatal XC0 i0 Link -1 (0x0 0x0)", "critical", "Reset all GPUs"),
        ("63, Dynamic Page Retirement: New page retired, reboot to activate (0x00000000000a8f1c).", "warning", "reboot the node"),
        ("64, Row Remapper Error: (0x0000000000abcdef) - Row Remapping table is full", "critical", "Have the GPU replaced"),
        ("64, Row Remapper: (0x1) - Attempting to remap a row that is already pending remapping.", "warning", "At the next maintenance"),
        ("94, pid=8, name=RST: Yes, D-RST, Contained: SM (0x1). RST: No, D-RST: No", "warning", "At the next maintenance"),
        (
            "160, Marking Channel 0 in FBPA 12 along with its pair for repair. Perform GPU reset to activate repair.",
            "warning",
            "Reset the GPU.",
        ),
    ],
)
def test_a_code_with_several_meanings_follows_its_words(text, kind, word):
    found, steps = meaning_of(text)
    assert (found, word in steps) == (kind, True), steps


def test_a_receiver_that_lost_packets_for_good_is_reset():
    (lost,) = {nvlink_fault(145, "RLW_RXPIPE", (info, 1)).resolution for info in (0x04C2, 0x0086)}
    (kept,) = {nvlink_fault(145, "RLW_RXPIPE", (info, 1)).resolution for info in (0x0409A0C2, 0x0006)}
    assert (lost, kept) == ("reset", "none")


def test_the_worst_line_is_kept_with_all_links_and_the_largest_burst():
    mild, bad = "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x7 0x2)", "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 05 (0x7 0x4)"
    worst = "145, RLW_SRC_TRACK Fatal XC1 i0 Link 01 (0x7 0x10)"
    one = xid(mild, bad, worst, bad, mild)
    assert (one.line, one.links, one.burst, one.count) == (HEAD + worst, (1, 3, 5), 5, 5)
    assert xid(bad, mild).line == HEAD + bad


def test_lines_that_are_hours_apart_are_no_burst():
    line = HEAD + "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 03 (0x7 0x4)"
    (one,) = parse_events([line] * 50, [3600.0 * at for at in range(50)]).xids
    assert (one.count, one.burst) == (50, 1)
    (close,) = parse_events([line] * 50, [3600.0 + at for at in range(50)]).xids
    assert close.burst == 50


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)", "gpu-reset"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)", "node-reboot"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x1 (Drain and Reset)", "drain-and-reset"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x3 (Drain P2P)", "drain-p2p"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x2", "node-reboot"),
        ("154, GPU recovery action changed from 0x0 (None) to 0x", ""),
        ("154, GPU recovery action changed from 0x0 (No", ""),
    ],
)
def test_the_recovery_action_of_an_xid_154(text, action):
    assert recovery_action(xid(text)) == action


@pytest.mark.parametrize(
    ("name", "words", "never"),
    [
        ("red-nonfatal-job", "Start the job", "gpu-reset|Drain"),
        ("red-nonfatal-then-154", "Reboot the node: the driver asks for it", "gpu-reset|Start the job"),
        ("red-nonfatal-storm", "Reset all GPUs", "Start the job"),
        ("red-nonfatal-over-months", "Start the job", "gpu-reset|Drain"),
        ("red-link-down-because-of-the-peer", "other end", "Start the job"),
    ],
)
def test_the_first_fault_of_a_case_has_these_steps(name, words, never):
    (case,) = [one for one in CASES if one.path.endswith(f"gpu/xid/{name}.yaml")]
    first = run_case(case, CHECKS)[0]
    steps = " ".join(f"{step.text} {step.command}" for step in first.remedy)
    assert (words in steps, re.search(never, steps)) == (True, None), steps


def test_each_row_is_of_a_code_and_a_unit_of_its_own():
    assert len({(row.code, row.unit, row.status, row.subcode) for row in NVLINK_FAULTS}) == len(NVLINK_FAULTS)
    assert {row.code for row in NVLINK_FAULTS} == set(CODES) <= set(CATALOGUE)
    bits = [(register, bit) for register, found, _ in REGISTERS for bit in found]
    assert len(bits) == len(set(bits))


@given(st.text(max_size=200), st.sampled_from([0, 13, 31, 64, 74, 94, 119, 140, 145, 149, 154, 160, 9999]))
def test_no_line_breaks_a_reading(text, code):
    for line in (text, f"{HEAD}{code}, {text}", f"{HEAD}{code}, RLW_REMAP Fatal XC0 i0 Link 00 ({text}"):
        assert isinstance(parse_xid_line(line, code).part, str)
        for one in parse_events([line]).xids:
            assert read_xid(one).meaning.meaning
            assert isinstance(recovery_action(one), str)
