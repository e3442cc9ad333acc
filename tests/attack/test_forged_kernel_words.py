"""Nobody but the kernel writes a word that counts: a healthy host keeps its verdict whatever users make its kernel print."""

from pathlib import Path

import pytest

from hostagent.core.tables.kernel_words import BY_ID
from hostagent.engine.questions import live_backend
from hostagent.host import recording
from hostagent.profiles import profile
from tests.judged import judged

HOST = Path(__file__).parent.parent / "hosts/hgx-h100-busy-log"
LOADED = profile.load("default", site_file="")
RECORDED = recording.load(str(HOST))
WORDS = [BY_ID[name].examples[0] for name in ("reset-required", "uvm-hmm", "memory-uncorrected", "mlx5-health")]


def verdict(answer):
    answers = {**RECORDED.answers, "kernel_words": {"json": answer}}
    tape = recording.Tape(1, RECORDED.recorded_by, RECORDED.recorded_at, RECORDED.kind, RECORDED.redacted, answers)
    report = judged(recording.ReplayBackend(tape), LOADED)
    return report.verdict.single_node, sorted({one.id for one in report.findings if one.outcome in ("fail", "warn", "unknown")})


def read(tmp_path, *records):
    """What a host answers whose /dev/kmsg has these records, one a millisecond."""
    for place in ("dev", "proc", "sys"):
        (tmp_path / place).mkdir(exist_ok=True)
    log = "".join(f"{priority},{at},{at * 1000},-,caller={caller};{text}\n" for at, (priority, caller, text) in enumerate(records, 1))
    (tmp_path / "dev/kmsg").write_text("5,0,0,-;Linux version 6.8.0-45-generic (a@b) #1 SMP\n" + log, encoding="utf-8")
    return live_backend(str(tmp_path), "host-root").ask("kernel_words")


CLEAN = verdict({"lines": [], "complete": True})


def test_the_kernels_own_words_count(tmp_path):
    for line in WORDS[:3]:
        assert verdict(read(tmp_path, (3, "T9", line))) != CLEAN, line


@pytest.mark.parametrize("priority", [8 + 3, 24 + 6, 40 + 5])
def test_what_came_through_the_device_from_user_space_changes_no_verdict(tmp_path, priority):
    assert read(tmp_path, *((priority, "T9", line) for line in WORDS))["lines"] == []


@pytest.mark.parametrize(
    "text",
    [
        "Memory cgroup stats for /{}: anon 1",
        "oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/user.slice/{},task=a,pid=1,uid=1000",
        r"a[1]: segfault at 0 ip 0 sp 0 error 4 in b\x0a{}[1000+1000]",
    ],
)
def test_what_the_kernel_quotes_changes_no_verdict(tmp_path, text):
    assert read(tmp_path, *((3, "T9", text.format(line)) for line in WORDS))["lines"] == []


def test_a_task_that_is_called_like_the_driver_hangs_elsewhere(tmp_path):
    records = [
        (3, "T97", "INFO: task nvidia-modeset/:212 blocked for more than 122 seconds."),
        (3, "T97", " nfs_wait_bit_killable+0x16/0x90 [nfs]"),
        (3, "T98", " ? os_acquire_rwlock_write+0x39/0x50 [nvidia]"),  # of another task, in the same moment
        (6, "T99", " x+0x1/0x2 [nvi[9]: segfault at 0 ip 0 sp 0 error 4 in dia][1000+1000]"),
    ]
    answer = read(tmp_path, *records)
    assert len(answer["lines"]) == 2
    assert verdict(answer) == CLEAN


def test_a_fault_is_not_lost_in_a_storm_of_others(tmp_path):
    storm = [
        (4, "T8", f"AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:e4:00.0 domain=0x0010 address=0x{at:x} flags=0x0020]")
        for at in range(25_000)
    ]
    answer = read(tmp_path, (3, "T9", WORDS[0]), *storm)
    assert answer["complete"] is True
    assert len(answer["lines"]) < 200
    assert "gpu.driver_words" in verdict(answer)[1]
