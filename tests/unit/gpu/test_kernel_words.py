"""The table of kernel words: each row knows its own records, and nothing that a user, a healthy host or another record says."""

import re

import pytest

from hostagent.core.tables.kernel_words import BY_ID, KEPT, PARTS, ROWS, patterns
from hostagent.core.unread import Unread
from hostagent.domains.gpu.kernel_events import may_be_cleared, troubles
from hostagent.domains.gpu.read_kernel_words import Line, parse_lines, parse_words, read_kernel_words
from hostagent.facts.gpu import Clearing
from hostagent.host import recording
from hostagent.host.source import Source
from tests.over import over

NOISE = sorted({one for row in ROWS for one in row.noise})
#: What the kernel writes behind the name of a process, and then the name of a file or of a cgroup.
SAYINGS = (
    "[12]: segfault at 0 ip 0 sp 0 error 4 in {}[1000+1000]",
    "[7]: unhandled signal 11 code 0x1 at 0x0000000000000000 in {}[400000+1000]",
    " invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0 {}",
    ": page allocation failure: order:0, mode:0xcc0(GFP_KERNEL), nodemask=(null),cpuset=/{}",
    "/12: potentially unexpected fatal signal 11. {}",
    " (12): Using mlock ulimits for SHM_HUGETLB is obsolete {}",
    " uses wireless extensions which will stop working for Wi-Fi 7 hardware; use nl80211 {}",
)


def lines(*texts, caller="T1", at=100.0):
    return [Line(text, at + number / 1000, caller) for number, text in enumerate(texts)]


def found(*records):
    return [(one.row, one.subject) for part in PARTS for one in parse_words(part, records).events]


@over("row", ROWS, ids=lambda row: row.id)
def test_each_row_finds_its_examples_and_no_other_does(row):
    groups = [row.examples] if row.then else [(one,) for one in row.examples]
    for records in groups:
        assert {name for name, _ in found(*lines(*records))} - {"firmware-memory", "pci-firmware-error"} <= {row.id}
        assert [name for name, _ in found(*lines(*records))].count(row.id) == 1, records


@over("row", [row for row in ROWS if row.then], ids=lambda row: row.id)
def test_the_first_record_of_a_trace_alone_is_nothing(row):
    assert found(*lines(row.examples[0])) == []
    assert found(*lines(row.examples[1])) == []


@over("text", NOISE)
def test_what_looks_like_it_is_nothing(text):
    assert found(*lines(text)) == []


@over("row", ROWS, ids=lambda row: row.id)
def test_no_name_of_a_process_makes_a_record_that_begins_like_theirs(row):
    for example in row.examples:
        for saying in SAYINGS:
            for size in range(16):
                forged = (example[:size] + saying.format(example[size:]), example[:size] + saying.format(example))
                for text in forged:
                    assert not re.match(KEPT, text), text


@over("text", ["oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/{},task=a", "Memory cgroup stats for /{}: anon 1", " {}", "a\n{}"])
def test_what_a_record_quotes_is_nothing(text):
    assert found(*lines(*(text.format(one) for row in ROWS for one in row.examples if not one.startswith((" ", "RIP"))))) == []


def test_a_forged_name_makes_no_trace_count():
    begin = "INFO: task {}:12 blocked for more than 120 seconds."
    assert found(*lines(begin.format("nvidia-uvm"), "Modules linked in: nvidia_uvm(POE) nvidia(POE)", " schedule+0x33/0x110")) == []
    assert found(*lines(begin.format("+0x1/0x2 [nvidia"), " schedule+0x33/0x110")) == []


OOPS, FRAME = BY_ID["driver-oops"].examples
HUNG = BY_ID["driver-hangs"].examples[0]


@pytest.mark.parametrize(
    "records",
    [
        [Line(OOPS, 10.0, "T1"), Line(FRAME, 10.001, "T2")],  # of another task
        [Line(OOPS, 10.0, "T1"), Line(FRAME, 16.0, "T1")],  # long after
        [Line(FRAME, 9.999, "T1"), Line(OOPS, 10.0, "T1")],  # before
        [Line(OOPS, 10.0, "T1"), Line("---[ end trace 0000000000000000 ]---", 10.1, "T1"), Line(FRAME, 10.2, "T1")],
        [Line(HUNG, 10.0), Line("NMI backtrace for cpu 3", 10.1), Line(FRAME, 10.2)],  # of all CPUs, on a kernel without callers
        [Line(OOPS, 10.0, "T1"), Line("RIP: 0010:lov_io_init+0x2/0x10 [lov]", 10.001, "T1")],
        [Line(OOPS, 10.0, "T1"), Line(" ? nvidia_ioctl+0x2/0x10 [nvidia]", 10.001, "T1")],  # unreliable
        [
            Line(HUNG, 10.0, "T1"),  # on a file server
            Line(" nfs_wait_bit_killable+0x1e/0x90 [nfs]", 10.001, "T1"),
            Line(" ? nvidia_ioctl+0x2/0x10 [nvidia]", 10.002, "T1"),
        ],
        [Line(OOPS, 10.0), Line(FRAME, 11.5)],  # long after, on a kernel without callers
        [Line(OOPS, 10.0, "T1"), Line(" ? nvidiafb_open+0x2/0x10 [nvidiafb]", 10.001, "T1")],
    ],
)
def test_what_is_not_of_one_trace_is_nothing(records):
    assert found(*records) == []


def test_a_trace_on_a_kernel_without_callers_counts_within_a_second():
    assert found(Line(OOPS, 10.0), Line(FRAME, 10.9)) == [("driver-oops", "")]
    assert found(Line(OOPS, 10.0, "T1"), Line(FRAME, 13.0, "T1")) == [("driver-oops", "")]


@pytest.mark.parametrize(
    "frame", [" uvm_ioctl+0x2/0x10 [nvidia_uvm]", " ? os_acquire_mutex+0x2/0x10 [nvidia]", "pc : nv_open+0x2/0x10 [nvidia]"]
)
def test_a_task_that_waits_in_the_driver_hangs(frame):
    assert found(Line(HUNG, 10.0, "T1"), Line(frame, 10.001, "T1")) == [("driver-hangs", "")]


def test_the_second_line_names_the_gpu_that_has_no_usable_bar():
    text = BY_ID["bar-invalid"].examples[0]
    assert found(*lines(text)) == [("bar-invalid", "0000:01:00.0")]
    assert found(*lines(text.partition("\n")[0])) == [("bar-invalid", "")]


@pytest.mark.parametrize(("kind", "row"), [("fatal", "pci-firmware-error"), ("recoverable", "pci-firmware-nonfatal")])
def test_the_firmware_says_whether_an_error_of_pcie_was_fatal(kind, row):
    records = lines(f"{{1}}[Hardware Error]:  Error 0, type: {kind}", "{1}[Hardware Error]:   device_id: 0000:1b:00.0")
    assert found(*records) == [(row, "0000:1b:00.0")]


def test_each_iommu_names_the_device_in_its_own_way():
    named = [found(*lines(one)) for one in BY_ID["pci-dma-blocked"].examples]
    assert [subject for ((_, subject),) in named] == [*["0000:41:00.0"] * 2, "0009:01:00.0", *["0000:41:00.0"] * 3]


def test_what_a_record_ends_has_such_a_record():
    for row in BY_ID.values():
        assert "recovered" not in row.ends or row.id.startswith(("mlx5", "ionic", "pci", "disk", "raid")), row.id


def test_a_stuck_cpu_is_shown_by_its_own_trace():
    first, later = BY_ID["driver-lockup"].examples
    stall = Line("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", 5.0, "C1")
    assert found(stall, Line(later, 5.2, "C4")) == [("driver-stall", "")]
    assert found(Line(first, 5.0, "C4"), Line(later, 5.2, "C4")) == [("driver-lockup", "")]
    assert found(Line(first, 5.0, "C4"), Line("NMI backtrace for cpu 7", 5.1, "C7"), Line(later, 5.2, "C7")) == [], "of all CPUs"


def test_a_storm_is_one_event_of_each_device():
    text = BY_ID["mlx5-command"].examples[0]
    many = [Line(text.replace("0000:19", f"0000:{number % 3 + 0x19:x}"), float(number)) for number in range(5000)]
    events = parse_words("nic", many).events
    assert [(one.subject, one.count) for one in events] == [("0000:19:00.0", 1667), ("0000:1a:00.0", 1667), ("0000:1b:00.0", 1666)]
    assert len(troubles("nic", events, Unread("not-supported"))) == 3


@pytest.mark.parametrize(
    ("row", "end", "by"),
    [
        ("reset-required", "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.1", "load"),
        ("uvm-hmm", "nvidia-uvm: Loaded the UVM driver, major device number 507.", "uvm"),
        ("uvm-needs-reboot", "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.1", ""),
        ("mlx5-health", "mlx5_core 0000:19:00.0: mlx5_health_try_recover:338:(pid 9): health recovery succeeded", "recovered"),
        ("mlx5-health", "mlx5_core 0000:19:00.0: firmware version: 28.39.2048", "recovered"),
        ("mlx5-health", "mlx5_core 0000:1a:00.0: firmware version: 28.39.2048", ""),
        ("pci-contained", "pcieport 0000:15:01.0: AER: device recovery successful", "recovered"),
        ("pci-link-down", "pcieport 0000:15:01.0: pciehp: Slot(12): Link Up", "recovered"),
        ("xfs-shutdown", "XFS (md0): Mounting V5 Filesystem 43ed2bb9-5b51-4bdc-af8d-af2ca7001f3f", "mounted"),
        ("xfs-shutdown", "XFS (md1): Mounting V5 Filesystem 43ed2bb9-5b51-4bdc-af8d-af2ca7001f3f", ""),
        ("ext4-error", "EXT4-fs (nvme1n1): mounted filesystem 43ed2bb9 r/w with ordered data mode. Quota mode: none.", "mounted"),
        ("ext4-error", "EXT4-fs (nvme1n1): re-mounted 43ed2bb9 r/w.", ""),
        ("btrfs-error", "BTRFS info (device nvme1n1): first mount of filesystem 43ed2bb9", "mounted"),
        ("disk-gone", "nvme nvme1: pci function 0000:41:00.0", "recovered"),
        ("raid-failed", "md0: detected capacity change from 0 to 15002931712", "recovered"),
    ],
)
def test_a_later_record_ends_it(row, end, by):
    text = BY_ID[row].examples[0]
    assert [one.ended_by for one in parse_words(BY_ID[row].part, lines(text, end)).events] == [by]
    again = parse_words(BY_ID[row].part, lines(text, end, text)).events
    assert [one.ended_by for one in again] == ([by, ""] if by else [""])


def test_an_administrator_clears_what_the_boot_alone_does_not_end():
    clearing = Clearing("", 200.0, 300.0, "tested")
    of_reset, of_boot = (
        parse_words("gpu", lines(BY_ID[row].examples[0]), (clearing,)).events[0] for row in ("reset-required", "uvm-needs-reboot")
    )
    assert (of_reset.ended_by, of_boot.ended_by) == ("cleared", "")
    assert (may_be_cleared(of_reset), may_be_cleared(of_boot)) == (True, False)


def test_a_recording_of_an_older_table_keeps_what_it_knew():
    kept = ["messages", *(one for part in PARTS if part != "nic" for one in patterns(part))]
    answer = {"lines": [[5.0, "T1", BY_ID["reset-required"].examples[0]]], "complete": True}
    tape = recording.Tape(1, "test", 0.0, "live", False, {"kernel_words": {"json": answer, "kept": kept}})
    words = read_kernel_words(Source(recording.ReplayBackend(tape)), lambda _: None)
    assert ([one.row for one in words.gpu], words.nic.why) == (["reset-required"], "older-recording")
    fewer = recording.Tape(1, "test", 0.0, "live", False, {"kernel_words": {"json": answer, "kept": kept[:2]}})
    assert [one.row for one in read_kernel_words(Source(recording.ReplayBackend(fewer)), lambda _: None).gpu] == ["reset-required"]


@pytest.mark.parametrize("value", [None, 3, [3], [[1.0]], [["a", "b", "c"]], [[float("nan"), "T1", "x"]], [[1.0, "T1", 3]]])
def test_lines_of_another_shape_are_an_error(value):
    assert parse_lines(value).why == "error"
