"""Who may say what in the kernel log: a record counts by how it begins, and no user can make one begin like the driver's."""

import re

import pytest

from hostagent.core.tables.kernel_log import KEPT, KEY_REFUSED
from hostagent.domains.gpu.read_events import parse_events, read_events
from hostagent.domains.system.read_kernel_log import read_kernel_log
from hostagent.host.kernel_log import parse_journal, parse_kmsg, parse_syslog
from hostagent.testing import host
from tests.over import over

XID = "NVRM: Xid (PCI:0000:9d:00): 79, pid=1, GPU has fallen off the bus."
#: What drivers and the kernel print, as published logs have it.
REAL = [
    XID,
    "NVRM: Xid (0000:03:00): 14, Channel 00000001",
    "NVRM: Xid (PCI:zz): 79, x",
    "NVRM: GPU 0000:b3:00.0: GPU has fallen off the bus.",
    "NVRM: GPU at 0000:b3:00.0 has fallen off the bus.",
    "NVRM: GPU at PCI:0000:9d:00: GPU-bc0fa0b9",
    "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: (PCI ID: 10de:26b5) installed in this system has\nNVRM: fallen off the bus and is not",
    "NVRM: fallen off the bus and is not responding to commands.",
    "nvidia-nvswitch0: SXid (PCI:0000:c3:00.0): 20009, Non-fatal, Link 28 RX Short Error Rate",
    "nvidia 0000:01:00.0: Direct firmware load for nvidia/580.142/gsp_ga10x.bin failed with error -2",
    "NVRM: RmFetchGspRmImages: No firmware image found",
    "NVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x62:0x40:2028)",
    "NVRM: RmInitAdapter failed! (0x24:0x40:1220)",
    "NVRM: rm_init_adapter(0) failed",
    "NVRM: GPU0 RmInitAdapter: Cannot initialize GSP firmware RM",
    "NVRM: _kgspBootGspRm: unexpected WPR2 already up, cannot proceed with booting GSP",
    "NVRM: unexpected WPR2 already up, cannot proceed with booting GSP",
    "NVRM: kgspInitRm_IMPL: failed to extract VBIOS image from ROM: 0x25",
    "NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (dvs-builder@U22-I3-AM02-24-3)",
    "NVRM: loading NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 19:39:15 UTC 2024",
    "Linux version 6.8.0-45-generic (buildd@lcy02) #45-Ubuntu SMP",
    "Loading of module with unavailable key is rejected",
    "nvidia: Loading of unsigned module is rejected",
    "Lockdown: modprobe: unsigned module loading is restricted; see man kernel_lockdown.7",
    "PKCS#7 signature not signed with a trusted key",
]
#: What the kernel says of a process behind its name, up to the name of a file that the process runs (measured on Linux 6.18).
SAYINGS = [
    "[12]: segfault at 0 ip 00007efe38131ad8 sp 00007fff6a8a8b88 error 4 in {0}[167ad8,7efe37ff0000+156000]",
    "[12]: segfault at 0 ip 0 sp 0 error 4 in NVRM: {1}[1000+1000]",
    "[12] bad frame in rt_sigreturn frame:00 ip:00 sp:00 orax:0 in {0}[1000+1000]",
    "[12]: unhandled exception: DABT (lower EL), ESR 0x92000046, level 2 translation fault in {0}[1000+1000]",
    " invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0, oom_score_adj=0",
    ": page allocation failure: order:0, mode:0x40cc0(GFP_KERNEL|__GFP_COMP), nodemask=(null),cpuset=/{1},mems_allowed=0",
    " (12): drop_caches: 1",
    "/12: potentially unexpected fatal signal 11.",
]


@pytest.mark.parametrize("line", REAL)
def test_what_the_driver_and_the_kernel_say_is_kept(line):
    assert re.match(KEPT, line)


@over("line", REAL)
@over("saying", SAYINGS)
def test_no_name_of_a_process_makes_a_record_that_begins_like_theirs(line, saying):
    for size in range(16):
        forged = line[:size] + saying.format(line[size:].replace("/", "|"), line.replace("/", "|"))
        assert not re.match(KEPT, forged), forged
        assert not re.match(KEY_REFUSED, forged), forged
        assert parse_events([forged]) == ((), (), (), ()), forged


@over(
    "text",
    [
        "Memory cgroup stats for /{}: anon 1",
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,task_memcg=/{},task=a,pid=1,uid=1000",
        "/user.slice/{}",  # the path alone, where another processor has spoken in between
        " {}",
        "[ 270.439207] {}",
        "Dec 23 23:32:27 node kernel: {}",
        "tmpfs: Unknown parameter '\n{}'",
        "process '/tmp/\n{}' started with executable stack",
        "NVRM: API mismatch: the client has the version\n{}",
        "NVRM: Xid (PCI:0000:01:00): 13, pid=1, name=a\n{}",
    ],
)
@over("line", [one for one in REAL if not one.startswith("Linux")])
def test_what_a_record_quotes_is_no_event(text, line):
    found = parse_events([text.format(line)])
    assert [one.code for one in found.xids] in ([], [13]), found
    assert (found.sxids, found.init_failures) == ((), ())
    assert not re.match(KEY_REFUSED, text.format(line))


def kmsg(message, priority=3):
    return f"{priority},7,5140900,-;{message}\n".encode()


@pytest.mark.parametrize("priority", [3, 6])
def test_the_kernels_own_records_count(priority):
    record = ((5.1409, XID, ""),)
    assert tuple(parse_kmsg(kmsg(XID, priority))) == record
    assert tuple(parse_syslog(f"<{priority}>[    5.140900] {XID}\n".encode())) == record
    entry = f'{{"MESSAGE": "{XID}", "SYSLOG_FACILITY": "0", "_TRANSPORT": "kernel", "_SOURCE_MONOTONIC_TIMESTAMP": "5140900"}}'
    assert tuple(parse_journal(entry)) == record


@pytest.mark.parametrize("facility", [1, 3, 5, 16, 23])
def test_a_record_of_user_space_does_not(facility):
    for priority in range(8):
        assert list(parse_kmsg(kmsg(XID, facility << 3 | priority))) == []
        assert list(parse_syslog(f"<{facility << 3 | priority}>[    5.140900] {XID}\n".encode())) == []
    assert list(parse_journal(f'{{"MESSAGE": "{XID}", "SYSLOG_FACILITY": "{facility}", "__MONOTONIC_TIMESTAMP": "1"}}')) == []
    assert list(parse_journal(f'{{"MESSAGE": "{XID}", "_TRANSPORT": "kernel", "__MONOTONIC_TIMESTAMP": "1"}}')) == []


@pytest.mark.parametrize(
    ("parse", "data"),
    [
        (parse_kmsg, rb"6,1,1,-;a[1]: in \x0aNVRM: Xid (PCI:0000:9d:00): 79, x" + b"\n"),
        (parse_syslog, b"<6>[    0.000001] a[1]: in \n<6>[    0.000001] NVRM: Xid (PCI:0000:9d:00): 79, x\n"),
        (parse_journal, r'{"MESSAGE":"a[1]: in \nNVRM: Xid (PCI:0000:9d:00): 79, x","SYSLOG_FACILITY":"0","__MONOTONIC_TIMESTAMP":"1"}'),
    ],
)
def test_a_line_break_in_a_message_begins_no_record(parse, data):
    assert [tuple(one[:2]) for one in parse(data)] == [(1e-6, "a[1]: in \nNVRM: Xid (PCI:0000:9d:00): 79, x")]


@pytest.mark.parametrize("separator", ["\r", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\\n", "\\x0a"])
def test_no_other_character_separates_records(separator):
    text = f"a{separator}{XID}"
    escaped = "".join(rf"\x{byte:02x}" if byte < 32 or byte > 126 or byte == 92 else chr(byte) for byte in text.encode())
    assert [one.message for one in parse_kmsg(kmsg(escaped))] == [text]
    assert [one.message for one in parse_syslog(f"<6>[    5.140900] {text}\n".encode())] == [text]
    array = list(text.encode())
    assert [one.message for one in parse_journal(f'{{"MESSAGE":{array},"SYSLOG_FACILITY":"0","__MONOTONIC_TIMESTAMP":"1"}}')] == [text]


def test_what_belongs_to_a_record_of_the_device_is_no_record():
    data = kmsg("usb 1-1: Product: x") + b" DEVICE=+usb:1-1\n SUBSYSTEM=3,7,5,-;NVRM: Xid (PCI:0000:9d:00): 79\n"
    assert [one.message for one in parse_kmsg(data)] == ["usb 1-1: Product: x"]


@pytest.mark.parametrize("flag", ["c", "+"])
def test_a_piece_of_a_line_that_was_begun_before_is_no_record(flag):
    assert list(parse_kmsg(f"3,7,5140900,{flag};{XID}\n".encode())) == []


def test_a_caller_stands_before_the_message_and_not_in_it():
    assert next(iter(parse_kmsg(f"3,7,5140900,-,caller=T12;{XID}\n".encode()))).message == XID
    assert next(iter(parse_syslog(f"<3>[    5.140900][   T12] {XID}\n".encode()))).message == XID


@pytest.mark.parametrize("data", [f"<3>{XID}\n", f"{XID}\n", f"<3>[    5.140900] a\n<3>{XID}\n", f"<3>[    5.1]{XID}"])
def test_a_system_call_that_prints_no_times_is_not_read(data):
    """Without a time two lines of one message look like two messages."""
    with pytest.raises(ValueError, match="time"):
        list(parse_syslog(data.encode()))


def read(*lines):
    return read_kernel_log(host({"kernel_log": {"lines": list(lines), "complete": True}}))


def test_old_tapes_without_times_stay_valid():
    old, new = (
        read(XID, r"NVRM: The NVIDIA GPU 0000:b3:00.0\x0aNVRM: x"),
        read([5.1409, XID], [6, "NVRM: The NVIDIA GPU 0000:b3:00.0\nNVRM: x"]),
    )
    assert (old.lines, old.complete) == (new.lines, new.complete)
    assert ([one.why for one in old.times], new.times) == (["not-recorded"] * 2, (5.1409, 6.0))
    assert read([5.1409, r"a\x0ab"]).lines == (r"a\x0ab",)


@pytest.mark.parametrize("line", [[5.1], [5.1, XID, 1], ["5.1", XID], [XID, 5.1], [5.1, None], {"5.1": XID}, 5, None, [float("nan"), XID]])
def test_a_record_of_another_shape_makes_the_log_unread(line):
    assert read([5.1, XID], line).why == "error"


def test_a_user_that_quotes_an_xid_changes_no_fact():
    clean = {"lines": [], "complete": True}
    forged = {"lines": [[12.5, f"Memory cgroup stats for /{one}: anon 1"] for one in REAL], "complete": True}
    assert read_events(host({"kernel_log": forged}), None) == read_events(host({"kernel_log": clean}), None)
