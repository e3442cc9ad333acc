"""Nobody but the driver writes an Xid: a healthy host keeps its verdict whatever users make its kernel print (attack S3)."""

from pathlib import Path

import pytest

from hostagent.engine.questions import live_backend
from hostagent.host import recording
from hostagent.profiles import profile
from tests.judged import judged

HOST = Path(__file__).parent.parent / "hosts/hgx-h100-ubuntu2404"
LOADED = profile.load("default", site_file="")
XID = "NVRM: Xid (PCI:0000:9d:00): 79, pid=1, GPU has fallen off the bus."
SXID = "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028, Fatal, Link 32 egress"
INIT = "NVRM: GPU 0000:9d:00.0: RmInitAdapter failed! (0x62:0x40:2028)"


def verdict(answer):
    recorded = recording.load(str(HOST))
    answers = dict(recorded.answers)
    answers["kernel_log"] = {"json": answer}
    backend = recording.ReplayBackend(
        recording.Tape(1, recorded.recorded_by, recorded.recorded_at, recorded.kind, recorded.redacted, answers)
    )
    report = judged(backend, LOADED)
    return report.verdict.single_node, sorted({one.id for one in report.findings if one.outcome in ("fail", "warn", "unknown")})


def read(tmp_path, *records):
    """What a host answers whose /dev/kmsg has these records."""
    for place in ("dev", "proc", "sys"):
        (tmp_path / place).mkdir(exist_ok=True)
    log = "".join(f"{priority},{at},{at * 250_000},-;{text}\n" for at, (priority, text) in enumerate(records, 1))
    (tmp_path / "dev/kmsg").write_text("5,0,0,-;Linux version 6.8.0-45-generic (a@b) #1 SMP\n" + log, encoding="utf-8")
    return live_backend(str(tmp_path), "host-root").ask("kernel_log")


CLEAN = verdict({"lines": [], "complete": True})


@pytest.mark.parametrize("line", [XID, SXID, INIT])
def test_the_drivers_own_word_counts(tmp_path, line):
    assert verdict(read(tmp_path, (3, line))) != CLEAN


@pytest.mark.parametrize("line", [XID, SXID, INIT])
@pytest.mark.parametrize(
    "text",
    [
        "Memory cgroup stats for /h6: {}: anon 1",
        "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/user.slice/{},task=a,pid=1,uid=1000",
        r"a[1]: segfault at 0 ip 0 sp 0 error 4 in b\x0a{}[1000+1000]",
        r"a[1]: segfault at 0 ip 0 sp 0 error 4 in \x5cx0a{}[1000+1000]",
    ],
)
def test_a_user_that_makes_the_kernel_quote_one_changes_no_verdict(tmp_path, text, line):
    assert verdict(read(tmp_path, (3, text.format(line)))) == CLEAN
    assert verdict({"lines": [text.format(line)], "complete": True}) == CLEAN


@pytest.mark.parametrize(
    "comm", ["NVRM: Xid (PCI:", "NVRM: Xid (PCI", "NVRM: Xid (a b)", "NVRM: Xid (a):", "NVRM: RmInitAda", "NVRM: GPU 0000:"]
)
@pytest.mark.parametrize(
    "said",
    ["[12]: segfault at 0 ip 0 sp 0 error 4 in 0000:9d:00): 79,[1000+1000]", " invoked oom-killer: gfp_mask=0xcc0(GFP_KERNEL), order=0"],
)
def test_a_program_that_is_called_like_one_changes_no_verdict(tmp_path, comm, said):
    assert verdict(read(tmp_path, (6, comm + said))) == CLEAN
    assert verdict({"lines": [comm + said], "complete": True}) == CLEAN


@pytest.mark.parametrize("line", [XID, SXID, INIT])
@pytest.mark.parametrize("priority", [8 + 3, 24 + 6, 40 + 5])
def test_what_came_through_the_device_from_user_space_changes_no_verdict(tmp_path, priority, line):
    assert verdict(read(tmp_path, (priority, line))) == CLEAN


def test_a_fault_is_not_lost_among_many_others(tmp_path):
    flood = [(3, f"NVRM: Xid (PCI:0000:1b:00): 13, pid={at}, name=a, Graphics Exception") for at in range(25_000)]
    answer = read(tmp_path, (3, XID), *flood)
    assert answer["complete"] is True
    assert len(answer["lines"]) < 21_000
    assert "gpu.xid" in verdict(answer)[1]
