"""A node as scontrol prints it."""

import pytest

from hostagent.slurm.node import parse_nodes, states_of
from hostagent.slurm.reason import is_our_comment, our_extra

#: As Slurm 22.05.8 prints it; the end is what each test is of.
HEAD = (
    "NodeName=n1 Arch=x86_64 CoresPerSocket=1  CPUAlloc=0 CPUTot=2 CPULoad=0.33 AvailableFeatures=h100,ib ActiveFeatures=h100,ib "
    "Gres=gpu:h100:8 NodeAddr=127.0.0.1 NodeHostName=localhost Port=17200 Version=22.05.8 OS=Linux 6.18.44 #1 SMP PREEMPT_DYNAMIC @0  "
    "RealMemory=1000 Sockets=2 Boards=1 State=IDLE+DRAIN ThreadsPerCore=1 Owner=N/A Partitions=gpu  BootTime=2026-11-30T00:59:00 "
    "CfgTRES=cpu=2,mem=1000M,billing=2 AllocTRES= ExtSensorsTemp=n/s"
)
STAMP = "[root@2026-11-30T07:12:24]"


def parsed(tail):
    (found,) = parse_nodes(f"{HEAD}{tail}\n")
    return found


def test_a_node_without_reason_comment_and_extra():
    found = parsed("")
    assert (found.name, found.states) == ("n1", {"IDLE", "DRAIN"})
    assert (found.reason, found.reason_by, found.reason_at, found.comment, found.extra) == ("", "", 0, "", "")


def test_reason_author_time_comment_and_extra():
    found = parsed(f' Reason=hostagent: GpuX: y. z {STAMP} Comment=quarantine: GpuXid Extra={{"hostagent":1}}')
    assert (found.reason, found.reason_by) == ("hostagent: GpuX: y. z", "root")
    assert found.reason_at == 1796022744
    assert (found.comment, found.extra) == ("quarantine: GpuXid", '{"hostagent":1}')


@pytest.mark.parametrize(
    ("tail", "reason", "comment", "extra"),
    [
        (f" Reason=a {STAMP}", "a", "", ""),
        (" Comment=rack 7", "", "rack 7", ""),
        (" Extra=rack 7", "", "", "rack 7"),
        (" Comment=see Extra=1 Extra=2", "", "see Extra=1", "2"),
        (f" Reason=a {STAMP} Comment=since {STAMP}", "a", f"since {STAMP}", ""),
        (f" Reason=see {STAMP} of bob {STAMP}", f"see {STAMP} of bob", "", ""),
        (f" Reason=a Comment=b {STAMP} Comment=c", "a Comment=b", "c", ""),
        (f" Reason=a {STAMP} Comment=c InstanceId=i-1 InstanceType=p5", "a", "c", ""),
        (f' Reason=a {STAMP} Extra={{"hostagent":1}} InstanceId= InstanceType=', "a", "", '{"hostagent":1}'),
        (f" Reason=two\nlines {STAMP} Comment=c", "two\nlines", "c", ""),
        (" Comment=see Owner=bob Extra=rack Row=7", "", "see Owner=bob", "rack Row=7"),
        (" Reason=a [slurm@Unknown]", "a", "", ""),
    ],
)
def test_free_texts_end_where_slurm_ends_them(tail, reason, comment, extra):
    found = parsed(tail)
    assert (found.reason, found.comment, found.extra) == (reason, comment, extra)


def test_a_reason_of_slurm_conf_has_no_end_and_leaves_no_text_that_may_be_overwritten():
    found = parsed(" Reason=broken by conf Comment=mine Extra=rack 7")
    assert found.reason == "broken by conf Comment=mine Extra=rack 7"
    assert all((found.comment, found.extra))
    assert not is_our_comment(found.comment)
    assert not our_extra(found.extra)


def test_a_comment_that_holds_a_stamp_is_not_taken_for_empty():
    assert parsed(f" Reason=see {STAMP} Comment=x {STAMP}").comment


def test_several_nodes():
    assert [one.name for one in parse_nodes(f"{HEAD}\n{HEAD.replace('=n1 ', '=n2 ')} Reason=a\nb {STAMP}\n\n")] == ["n1", "n2"]


def test_what_is_no_node_is_none():
    assert parse_nodes("slurm_load_node error: Unable to contact slurm controller (connect failure)\n") == ()


@pytest.mark.parametrize(
    ("text", "flags"),
    [
        ("DOWN*+DRAIN", {"DOWN", "NOT_RESPONDING", "DRAIN"}),
        ("IDLE~", {"IDLE", "POWERED_DOWN"}),
        ("MIXED@", {"MIXED", "REBOOT_REQUESTED"}),
        ("DRAINED^", {"DRAIN", "REBOOT_ISSUED"}),
        ("IDLE+MAINTENANCE+RESERVED", {"IDLE", "MAINT", "RESERVED"}),
        ("inval", {"INVALID_REG"}),
    ],
)
def test_flags_have_one_name_each(text, flags):
    assert states_of(text) == flags


def test_what_the_gate_reads_is_found_before_the_free_text():
    text = (
        "NodeName=n1 CPUAlloc=2 CPUEfctv=8 CPUTot=8 Gres=gpu:h100:8 GresUsed=gpu:h100:3(IDX:0-2) NodeHostName=gpu1 RealMemory=1000 AllocMem=300 "
        "State=MIXED MemSpecLimit=100 Partitions=a,b BootTime=2026-11-30T00:00:01 "
        f"Reason=Partitions=z GresUsed=gpu:0 {STAMP} Comment=BootTime=None Extra={{}}"
    )
    (one,) = parse_nodes(text)
    assert (one.gres_used, one.host, one.partitions, one.booted_at) == ("gpu:h100:3(IDX:0-2)", "gpu1", ("a", "b"), 1795996801.0)
    assert (one.free_cpus, one.free_memory, one.used_memory) == (6, 600, 300)


def test_what_is_not_printed_is_not_known():
    (one,) = parse_nodes("NodeName=n1 State=IDLE CPUAlloc=x")
    assert (one.gres_used, one.partitions, one.booted_at, one.free_cpus, one.free_memory, one.used_memory) == (
        None,
        (),
        0.0,
        None,
        None,
        None,
    )
