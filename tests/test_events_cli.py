"""``hostagent events clear`` on made trees, and what ``check`` says afterwards."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HOSTAGENT = [sys.executable, "-m", "hostagent"]
BOOT_ID = "7d3f6a52-41c8-4b1e-9d55-0c2a8e6f9b13"
XID = "NVRM: Xid (PCI:0000:1b:00): 79, pid=4, GPU has fallen off the bus."
REMAP = "NVRM: Xid (PCI:0000:3b:00): 64, pid=4, Row Remapper: Failed."
CLEARED = "run/hostagent/cleared.json"

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="a word on faults is root's")]


def log(root: Path, *records: "tuple[int, str]") -> None:
    with (root / "dev/kmsg").open("a") as stream:
        stream.writelines(f"6,{seconds},{seconds * 1_000_000},-;{text}\n" for seconds, text in records)


@pytest.fixture
def root(tmp_path):
    """A host that logged one Xid of each of two GPUs."""
    for folder in ("sys/kernel", "proc/sys/kernel/random", "dev", "run", "etc"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "proc/sys/kernel/random/boot_id").write_text(BOOT_ID + "\n")
    (tmp_path / "proc/stat").write_text("cpu 0\nbtime 1763640000\n")
    log(tmp_path, (0, "Linux version 6.8.0-87-generic"), (5, XID), (6, REMAP))
    return tmp_path


def clear(root: Path, *arguments: str, reason: str = "dcgmi passed") -> "subprocess.CompletedProcess[str]":
    argv = [*HOSTAGENT, "events", "clear", "--host-root", str(root), "--reason", reason, *arguments]
    answer = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert "Traceback" not in answer.stderr, answer.stderr
    return answer


def findings(root: Path) -> "list[tuple[str, str, str]]":
    argv = [*HOSTAGENT, "check", "--host-root", str(root), "--only", "gpu.xid,gpu.xid_ended,gpu.faults_cleared", "--json"]
    told = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60).stdout
    return sorted((one["id"], one["outcome"], one["subject"]) for one in json.loads(told)["findings"] if one["outcome"] in ("fail", "warn"))


def test_a_fault_is_cleared_and_the_report_says_so(root):
    answer = clear(root, "--subject", "1B:00.0")
    assert answer.returncode == 0
    assert answer.stdout.startswith("Cleared:\n  Xid 79 of 0000:1b:00.0\n")
    assert findings(root) == [("gpu.faults_cleared", "warn", "0000:1b:00.0"), ("gpu.xid", "fail", "0000:3b:00.0")]


def test_the_same_fault_later_counts_again(root):
    clear(root, "--subject", "0000:1b:00.0")
    log(root, (7, XID))
    assert ("gpu.xid", "fail", "0000:1b:00.0") in findings(root)


def test_what_only_a_new_board_ends_is_not_cleared(root):
    answer = clear(root)
    assert answer.stdout.startswith(
        "Cleared:\n  Xid 79 of 0000:1b:00.0\nNot cleared, because only a new board or a reboot ends it:\n  Xid 64 of 0000:3b:00.0\n"
    )
    assert findings(root) == [("gpu.faults_cleared", "warn", ""), ("gpu.xid", "fail", "0000:3b:00.0")]


RESET = "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x00000062) returned from x @ a.c:1"
FATAL = "NVRM: nvGpuOpsReportFatalError: uvm encountered global fatal error 0x60, requiring os reboot to recover."


def test_other_kernel_words_are_cleared_too_unless_only_a_reboot_ends_them(root):
    log(root, (8, RESET), (9, FATAL))
    answer = clear(root)
    assert "  reset-required of the host\nNot cleared" in answer.stdout
    assert "  uvm-needs-reboot of the host\n" in answer.stdout
    assert "reset-required" not in clear(root, reason="again").stdout
    log(root, (10, RESET))
    assert "  reset-required of the host\n" in clear(root, reason="later").stdout


def test_what_is_said_of_another_boot_ends_nothing(root):
    clear(root)
    (root / "proc/sys/kernel/random/boot_id").write_text(BOOT_ID.replace("7d", "00") + "\n")
    assert ("gpu.xid", "fail", "0000:1b:00.0") in findings(root)
    clear(root, reason="second boot")
    assert [one["reason"] for one in json.loads((root / CLEARED).read_text())["cleared"]] == ["second boot"]


def test_one_word_stands_beside_the_other(root):
    clear(root, reason="one")
    log(root, (7, XID))
    clear(root, reason="two")
    assert [one["reason"] for one in json.loads((root / CLEARED).read_text())["cleared"]] == ["one", "two"]
    assert oct((root / CLEARED).stat().st_mode & 0o7777) == "0o644"


def test_a_dry_run_writes_nothing(root):
    answer = clear(root, "--dry-run")
    assert answer.returncode == 0
    assert answer.stdout.startswith("Would clear:\n  Xid 79 of 0000:1b:00.0\n")
    assert not (root / "run/hostagent").exists()


def test_where_nothing_is_logged_nothing_is_written(root):
    answer = clear(root, "--subject", "0000:5b:00.0")
    said = "The kernel log has nothing to clear of 0000:5b:00.0.\nThe log has faults of 0000:1b:00.0, 0000:3b:00.0.\n"
    assert (answer.returncode, answer.stdout) == (0, said)
    assert not (root / "run/hostagent").exists()


def test_a_folder_that_others_may_write_is_refused(root):
    (root / "run/hostagent").mkdir()
    (root / "run/hostagent").chmod(0o777)
    answer = clear(root)
    assert answer.returncode == 2
    assert "mode 0777, wanted root's alone to write" in answer.stderr
    assert not (root / CLEARED).exists()


def test_a_link_out_of_the_tree_is_not_followed(root, tmp_path_factory):
    outside = tmp_path_factory.mktemp("outside")
    (root / "run/hostagent").symlink_to(outside)
    clear(root)
    assert list(outside.iterdir()) == []


def test_a_file_of_somebody_else_is_replaced(root):
    clear(root, reason="one")
    os.chown(root / CLEARED, 1000, 1000)
    assert ("gpu.xid", "fail", "0000:1b:00.0") in findings(root)
    clear(root, reason="two")
    assert [one["reason"] for one in json.loads((root / CLEARED).read_text())["cleared"]] == ["two"]


def test_a_log_that_cannot_be_read_clears_nothing(root):
    (root / "dev/kmsg").unlink()
    answer = clear(root)
    assert answer.returncode == 2
    assert "cannot read the kernel log" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "reason", "found"),
    [
        (("--subject", "gpu0"), "r", "found 'gpu0', wanted a PCI address"),
        ((), " ", "found no text, wanted 1 to 200 characters"),
        ((), "x" * 201, "found 201 characters, wanted 1 to 200 characters"),
    ],
)
def test_what_is_mistyped_is_said(root, arguments, reason, found):
    answer = clear(root, *arguments, reason=reason)
    assert answer.returncode == 2
    assert found in " ".join(answer.stderr.split())
