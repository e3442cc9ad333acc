"""What the kernel logged of a disk, and which volume it is about."""

from dataclasses import replace

import pytest

from hostagent.core.typed import build
from hostagent.core.unread import Unread
from hostagent.domains.gpu.kernel_events import disk_trouble
from hostagent.domains.gpu.read_kernel_words import Line, parse_words
from hostagent.facts.kernel_words import KernelWords

NO_HISTORY = Unread("not-supported")
XFS = "XFS (md0): Filesystem has been shut down due to log error (0x2)."
#: As a disk of a node that went: tyriis/home-ops#7472.
GONE = (
    "nvme nvme1: I/O tag 27 (e01b) opcode 0x2 (Admin Cmd) QID 0 timeout, reset controller",
    "nvme nvme1: Disabling device after reset failure: -19",
    "I/O error, dev nvme1n1, sector 604840256 op 0x1:(WRITE) flags 0x100000 phys_seg 2 prio class 2",
    "EXT4-fs error (device nvme1n1): __ext4_find_entry:1531: inode #2: comm containerd: reading directory lblock 0",
)
#: What a node with well volumes logs: a stick and an image of a build, a warning, a reset after which the disk goes on, readahead.
QUIET = (
    "XFS (sdz1): log I/O error -5",
    "sdb: detected capacity change from 60062500 to 0",
    "EXT4-fs error (device loop0): ext4_lookup:1855: inode #12: comm mkfs: deleted inode referenced: 14",
    "EXT4-fs warning (device nvme1n1): ext4_dirblock_csum_verify:375: inode #2: comm ls: No space for directory leaf checksum.",
    "EXT4-fs (nvme1n1): error count since last fsck: 3",
    "nvme nvme1: I/O tag 588 (524c) opcode 0x1 (I/O Cmd) QID 1 timeout, reset controller",
    "nvme nvme1: 32/0/0 default/read/poll queues",
    "I/O error, dev nvme1n1, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
    "critical target error, dev nvme1n1, sector 2048 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0 prio class 2",
    "nvme nvme10: Disabling device after reset failure: -19",
)


def words(*texts):
    found = parse_words("volume", [Line(text, 100.0 + at) for at, text in enumerate(texts)])
    return replace(build(KernelWords, {}, "", lambda field: Unread("not-recorded", field)), volume=found.events, ends=found.ends)


def rows(disk, *texts):
    one = disk_trouble(words(*texts), NO_HISTORY, disk)
    return (one.row.id, one.subject) if one else None


@pytest.mark.parametrize("disk", ["nvme1n1", "nvme1n1p1", "md0", "dm-3", ""])
def test_a_well_volume_has_nothing(disk):
    assert rows(disk, *QUIET) is None


def test_a_disk_that_is_gone_is_the_cause_of_what_follows():
    assert rows("nvme1n1", *GONE) == ("disk-gone", "nvme1")
    assert rows("nvme1n1p2", *GONE[:2]) == ("disk-gone", "nvme1")
    assert rows("nvme0n1", *GONE) is None
    assert rows("nvme10n1", *GONE) is None


@pytest.mark.parametrize(
    ("mount", "disk", "counts"),
    [
        ("XFS (md0): Mounting V5 Filesystem 43ed2bb9", "md0", False),
        ("XFS (md0): Unmounting Filesystem 43ed2bb9", "md0", False),
        ("XFS (md1): Mounting V5 Filesystem 43ed2bb9", "md0", True),
        ("XFS (nvme1n1): Mounting V5 Filesystem 43ed2bb9", "nvme1n1", False),  # on the controller's disk
        ("XFS (nvme1n2): Mounting V5 Filesystem 43ed2bb9", "nvme1n1", True),
    ],
)
def test_a_later_mount_begins_afresh(mount, disk, counts):
    texts = (XFS,) if disk == "md0" else (GONE[1],)
    assert (rows(disk, *texts, mount) is not None) is counts
    assert rows(disk, mount, *texts) is not None


def test_a_recording_of_an_older_table_says_nothing_of_volumes():
    older = replace(words(), volume=Unread("older-recording"))
    assert disk_trouble(older, NO_HISTORY, "md0") is None
