"""Filesystems that stopped or met errors, and disks and arrays that are gone. A disk or filesystem is named as the kernel names it."""

from hostagent.core.steps import Step
from hostagent.core.tables.kernel_words.row import End, Row

#: A filesystem's or disk's name in a record (s_id of a super block, %pg): nvme1n1p1, dm-3, md127, cciss!c0d0.
_NAME = r"(?P<device>[\w.!-]{1,31})"
_XFS = rf"XFS \({_NAME}\): "
_MD = r"(?P<device>md[\w.-]{1,28})"
_DISK = "journalctl -k -b -p err"
_LOOK = Step("drain_and_inspect", "Read which error of the disk the kernel logged.", _DISK)
_REBOOT = Step("reboot", "If the disk is well: reboot, so that the filesystem is mounted afresh.")
_REPLACE = Step("replace", "Replace the disk.", if_back=True)
_STEPS = (_LOOK, _REBOOT, _REPLACE)
_CHECKED = (_LOOK, Step("reboot", "If the disk is well: reboot, so that the filesystem is checked and mounted."), _REPLACE)
_GONE = (
    Step("power_cycle", "Power the chassis off and on: the disk {device} may come back."),
    Step("replace", "If it does not, or goes again: replace the disk.", if_back=True),
)
_FS, _DRIVERS = "Linux fs", "Linux drivers"

ROWS = (
    Row(
        "disk-gone",
        "volume",
        r"nvme (?P<device>nvme\d{1,5}): (?:Disabling device after reset failure: -\d|Removing after probe failure status: -\d)"
        r"|(?P<at>(?:nvme\d{1,5}n|sd|vd|xvd)\w{1,12}): detected capacity change from [1-9]\d{0,20} to 0\b",
        "critical",
        "The disk {device} is gone: the kernel could not bring it back",
        "The controller of the disk did not answer, and a reset did not help: each access to it fails.",
        ("recovered", "mounted", "cleared"),
        f"{_DRIVERS}/nvme/host/pci.c (nvme_reset_work, nvme_remove_dead_ctrl), block/genhd.c (set_capacity_and_notify)",
        (
            "nvme nvme1: Disabling device after reset failure: -19",
            "nvme nvme1: Removing after probe failure status: -19",
            "nvme1n1: detected capacity change from 7501476528 to 0",
        ),
        (
            "nvme nvme0: I/O tag 588 (524c) opcode 0x1 (I/O Cmd) QID 1 timeout, reset controller",
            "nvme nvme0: controller is down; will reset: CSTS=0x3, PCI_STATUS=0x10",
            "nvme nvme0: 32/0/0 default/read/poll queues",
            "nvme0n1: detected capacity change from 0 to 7501476528",
        ),
        _GONE,
    ),
    Row(
        "raid-failed",
        "volume",
        rf"md/(?:raid\d{{0,3}}|linear):?{_MD}: (?:Disk failure on [\w.!-]{{1,31}}(?: detected, failing array|, this is the last device)"
        r"|Cannot continue operation \(\d)",
        "critical",
        "A disk of {device} failed, and the array has no other copy of its data",
        "A RAID of level 0, or one that has lost more disks than it can: each access to what the disk held fails.",
        ("recovered", "mounted", "cleared"),
        f"{_DRIVERS}/md/raid0.c (raid0_error), raid1.c, raid5.c (raid5_error)",
        (
            "md/raid0md0: Disk failure on nvme1n1 detected, failing array.",
            "md/raid0:md127: Disk failure on nvme1n1 detected, failing array.",
            "md/raid:md0: Cannot continue operation (2/4 failed).",
        ),
        ("md/raid0:md0: md_size is 15002931712 sectors.",),
        (
            Step("replace", "Replace the disk that the kernel log names."),
            Step("configure", "Make the array {device} and its filesystem again: its data is lost."),
        ),
    ),
    Row(
        "xfs-shutdown",
        "volume",
        rf"{_XFS}(?:Filesystem has been shut down due to log error"
        r"|(?:(?:Log |Metadata )?I/O [Ee]rror|Corruption of (?:in-memory data|on-disk metadata)|Block device removal|All device paths lost)"
        r"\b[^\n]{0,300}Shutting down)",
        "critical",
        "XFS on {device} has shut itself down: every access to it fails",
        "XFS stops after an error of its log, its metadata or its disk, while the mount is still listed as writable.",
        ("mounted", "cleared"),
        f"{_FS}/xfs/xfs_fsops.c (xfs_do_force_shutdown), xfs_log.c (xlog_force_shutdown), 3.10 to 6.17; coreos/bugs#1396",
        (
            "XFS (md0): Filesystem has been shut down due to log error (0x2).",
            "XFS (md0): I/O Error Detected (0x1) at xfs_trans_cancel+0xf9/0x1d0 (fs/xfs/xfs_trans.c:1097).  Shutting down filesystem.",
            "XFS (dm-3): Log I/O Error (0x2) detected at xlog_ioend_work+0x70/0x80 (fs/xfs/xfs_log.c:1378).  Shutting down filesystem.",
            "XFS (sdb1): Log I/O Error Detected.  Shutting down filesystem",
        ),
        (
            "XFS (nvme0n1p2): Mounting V5 Filesystem 43ed2bb9-5b51-4bdc-af8d-af2ca7001f3f",
            "XFS (nvme0n1p2): Ending clean mount",
            "XFS (nvme0n1p2): Starting recovery (logdev: internal)",
        ),
        _STEPS,
    ),
    Row(
        "ext4-error",
        "volume",
        rf"EXT4-fs error \(device {_NAME}\)(?:: | in )",
        "critical",
        "ext4 on {device} met an error: what is on it cannot be trusted",
        "A directory, an inode or the journal could not be read, or is damaged. With errors=continue it is still listed as writable.",
        ("mounted", "cleared"),
        f"{_FS}/ext4/super.c (__ext4_error, __ext4_error_inode, __ext4_std_error); tyriis/home-ops#7472",
        (
            "EXT4-fs error (device nvme1n1): __ext4_find_entry:1531: inode #2: comm containerd: reading directory lblock 0",
            "EXT4-fs error (device dm-3) in ext4_reserve_inode_write:5769: IO failure",
        ),
        (
            "EXT4-fs (nvme0n1p2): error count since last fsck: 3",
            "EXT4-fs warning (device nvme0n1p2): ext4_dirblock_csum_verify:375: inode #2: comm ls: No space for directory leaf checksum.",
            "EXT4-fs (nvme0n1p2): warning: mounting fs with errors, running e2fsck is recommended",
        ),
        _CHECKED,
    ),
    Row(
        "ext4-journal",
        "volume",
        rf"Aborting journal on device {_NAME}-\d{{1,20}}\.",
        "critical",
        "ext4 on {device} has given up its journal: nothing can be written",
        "The journal could not be written: each write fails from here on.",
        ("mounted", "cleared"),
        f"{_FS}/jbd2/journal.c (jbd2_journal_abort)",
        ("Aborting journal on device nvme1n1p1-8.",),
        (),
        _CHECKED,
    ),
    Row(
        "btrfs-error",
        "volume",
        rf"BTRFS info \(device {_NAME}:?(?: state \w{{1,16}})?\): forced readonly"
        rf"|BTRFS(?: error|: error| critical) \(device (?P<at>[\w.!-]{{1,31}}):?(?: state \w{{1,16}})?\)"
        r"(?:: Transaction aborted \(error -\d| in \w{1,64}:\d+: errno=-\d|: emergency shutdown)",
        "critical",
        "btrfs on {device} stopped after an error: nothing can be written",
        "A change of the filesystem could not be completed, and btrfs accepts no other one.",
        ("mounted", "cleared"),
        f"{_FS}/btrfs/messages.c (__btrfs_handle_fs_error), transaction.h (btrfs_abort_transaction)",
        (
            "BTRFS info (device nvme1n1 state EA): forced readonly",
            "BTRFS info (device sdd): forced readonly",
            "BTRFS: error (device nvme1n1 state A) in btrfs_commit_transaction:2403: errno=-5 IO failure",
            "BTRFS error (device nvme1n1 state A): Transaction aborted (error -5)",
        ),
        ("BTRFS error (device nvme0n1p2): bdev /dev/nvme0n1p2 errs: wr 0, rd 0, flush 0, corrupt 1, gen 0",),
        _STEPS,
    ),
    Row(
        "xfs-error",
        "volume",
        rf"{_XFS}(?:[Mm]etadata (?:I/O error\b|corruption detected at|CRC error detected at)|log I/O error -?\d"
        r"|Corruption detected\. Unmount and run xfs_repair|Internal error |Failing async write on buffer block)",
        "warning",
        "XFS on {device} met an error of its metadata",
        "A block of metadata could not be read, written or understood: what it describes is lost until a repair, and XFS may shut down.",
        ("mounted", "cleared"),
        f"{_FS}/xfs/xfs_error.c, xfs_buf.c (xfs_buf_ioerror_alert), xfs_log.c",
        (
            'XFS (md0): metadata I/O error in "xfs_da_read_buf+0xf4/0x150 [xfs]" at daddr 0x1816a90 len 8 error 5',
            "XFS (nvme1n1): Metadata corruption detected at xfs_dinode_verify.part.0+0x739/0x920 [xfs], inode 0x427b2d1",
            "XFS (md0): log I/O error -5",
        ),
        (),
        _STEPS,
    ),
    Row(
        "disk-error",
        "volume",
        r"(?:blk_update_request: |print_req_error: )?(?:I/O|critical medium|critical target|protection) error, dev "
        rf"{_NAME}, sector \d{{1,20}}(?:$| op 0x[01]:\((?:READ|WRITE)\) flags 0x(?![0-9a-f]{{0,4}}[89a-f][0-9a-f]{{4}}\b))",
        "warning",
        "The disk {device} failed to read or write a block",
        "The disk gave up on a block, after what the kernel and the disk repeat by themselves: a file has lost a part.",
        ("mounted", "cleared"),
        "Linux block/blk-mq.c (blk_print_req_error)",
        (
            "I/O error, dev nvme1n1, sector 604840256 op 0x1:(WRITE) flags 0x100000 phys_seg 2 prio class 2",
            "blk_update_request: critical medium error, dev sda, sector 12375 op 0x0:(READ) flags 0x0 phys_seg 1 prio class 0",
            "blk_update_request: I/O error, dev sda, sector 4271",
        ),
        (
            "critical target error, dev nvme0n1, sector 2048 op 0x9:(WRITE_ZEROES) flags 0x800 phys_seg 0 prio class 2",
            "I/O error, dev nvme0n1, sector 2048 op 0x0:(READ) flags 0x80700 phys_seg 1 prio class 2",
            "EDAC MC3: 1 CE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0 (channel:0 slot:0)",
        ),
        (
            _LOOK,
            Step("replace", "If it counts errors of its medium, or more follow: replace the disk."),
        ),
    ),
    Row(
        "raid-degraded",
        "volume",
        rf"md/raid(?:1|10|4|5|6|456)?:{_MD}: Disk failure on [\w.!-]{{1,31}}, disabling device",
        "info",
        "The array {device} runs with a disk less",
        "A RAID with copies has taken a disk out, and goes on: one more may end it.",
        ("recovered", "mounted", "cleared"),
        f"{_DRIVERS}/md/raid1.c (raid1_error), raid10.c, raid5.c",
        ("md/raid1:md0: Disk failure on nvme1n1, disabling device.\nmd/raid1:md0: Operation continuing on 1 devices.",),
        (),
        (Step("none", "Nothing now; plan to have the disk that the kernel log names replaced."),),
    ),
)

#: A filesystem that is mounted, or unmounted, begins afresh; so does an array that is assembled, and a controller that is probed.
ENDS = (
    End("mounted", rf"{_XFS}(?:Mounting (?:V\d )?[Ff]ilesystem|Unmounting Filesystem)"),
    End("mounted", rf"EXT4-fs \({_NAME}\): (?:mounted filesystem|unmounting filesystem)"),
    End(
        "mounted",
        rf"BTRFS info \(device {_NAME}:?(?: state \w{{1,16}})?\): (?:(?:first mount|last unmount) of filesystem"
        r"|using free[- ]space[- ]tree|disk space caching is enabled)",
    ),
    End("recovered", r"nvme (?P<device>nvme\d{1,5}): pci function "),
    End("recovered", r"(?P<device>(?:md|nvme\d{1,5}n|sd|vd|xvd)[\w.-]{1,28}): detected capacity change from 0 to [1-9]"),
)
