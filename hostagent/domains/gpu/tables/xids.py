"""Meanings of NVIDIA's Xid codes, and the actions to take.

Source: NVIDIA, "Analyzing Xid Errors with the Xid Catalog" (Ampere and newer) and "GPU Memory Error Management",
read 2026-11. The words are ours. Codes that the catalog marks as unused are left out.

``kind`` is this project's severity of a code:

- ``critical``: the GPU or its link must be reset, or the host rebooted or serviced, before it is trusted again;
- ``warning``: the GPU continues, but an administrator should look at the event;
- ``application``: the program on the GPU is the usual cause, and only the program is affected;
- ``notice``: the GPU is not affected.
"""

# The device plug-in and the DRA driver let the GPU continue after some codes (109) that the catalog calls critical.

from typing import Literal, NamedTuple

from hostagent.core.steps import Step
from hostagent.core.tables.recovery_actions import LOST, REBOOT, REPLACE_IF_BACK, RESET, RESET_ALL, RESET_LATER

Kind = Literal["critical", "warning", "application", "notice"]

_RESET = (RESET, REPLACE_IF_BACK)
_NVLINK = (
    RESET_ALL,
    Step("replace", "Check the baseboard, the NVLink bridge or the cable.", if_back=True),
)
_SOFTWARE = (
    Step("drain_and_inspect", "Collect the driver's report for NVIDIA.", "nvidia-bug-report.sh"),
    RESET,
    Step("install", "Update the driver.", if_back=True),
)
_PROGRAM = (
    Step("none", "Look at the program that the log line names."),
    Step("none", "If several programs fault on this GPU alone, test it."),
)
_WATCH = (Step("rerun", "Watch the GPU, and ask its vendor if this comes back."),)
_SUPPORT = (
    Step("drain_and_inspect", "Collect the driver's report.", "nvidia-bug-report.sh"),
    Step("drain_and_inspect", "Send the report to the GPU's vendor."),
)


class XidMeaning(NamedTuple):
    """One row of the catalogue."""

    code: int
    kind: Kind
    meaning: str
    action: tuple[Step, ...]


_ROWS: tuple[tuple[int, Kind, str, tuple[Step, ...]], ...] = (
    (8, "application", "the GPU stopped processing", _PROGRAM),
    (11, "application", "invalid or corrupted push buffer", _PROGRAM),
    (13, "application", "graphics engine exception, as from a bad access", _PROGRAM),
    (25, "application", "illegal push buffer", _PROGRAM),
    (31, "application", "memory page fault, as from an illegal address", _PROGRAM),
    (32, "application", "invalid or corrupted push buffer", _PROGRAM),
    (37, "application", "unknown method reached the context switch firmware", _PROGRAM),
    (38, "warning", "watchdog of the context switch firmware ran out", _WATCH),
    (39, "application", "copy engine exception", _PROGRAM),
    (40, "application", "copy engine exception", _PROGRAM),
    (41, "application", "copy engine exception", _PROGRAM),
    (43, "application", "the GPU stopped processing for one program", _PROGRAM),
    (44, "warning", "graphics engine fault during a context switch", _WATCH),
    (45, "application", "work was removed after a fault or a program's end", _PROGRAM),
    (46, "critical", "the GPU stopped processing", _RESET),
    (48, "critical", "uncorrectable (double-bit) ECC error", _RESET),
    (54, "critical", "auxiliary power is not connected to the board", (Step("replace", "Check the power cables of the GPU."),)),
    (60, "application", "video processor exception", _PROGRAM),
    (62, "critical", "the GPU's internal controller halted", _RESET),
    (63, "warning", "a memory row was remapped or a page retired", (RESET_LATER,)),
    (64, "critical", "a memory row could not be remapped or retired", _RESET),
    (66, "warning", "illegal register access by the driver", _WATCH),
    (67, "warning", "illegal register access by the driver", _WATCH),
    (68, "application", "video decoder exception", _PROGRAM),
    (69, "application", "graphics engine class error", _PROGRAM),
    (74, "critical", "NVLink error", _NVLINK),
    (78, "warning", "a vGPU could not start", (Step("install", "Install a vGPU guest driver that matches the host's."),)),
    (79, "critical", "the GPU fell off the bus", LOST),
    (80, "application", "corrupted data was sent to the GPU", _PROGRAM),
    (92, "warning", "many single-bit ECC errors", _WATCH),
    (93, "warning", "the InfoROM is written too often and may wear out", _WATCH),
    (
        94,
        "warning",
        "memory error, contained in one program",
        (RESET_LATER,),
    ),
    (95, "critical", "memory error that was not contained", _RESET),
    (106, "notice", "test message", ()),
    (107, "notice", "test message", ()),
    (108, "application", "NVLink address that a peer could not translate", _PROGRAM),
    (109, "critical", "context switch ran out of time", _RESET),
    (110, "critical", "security fault", _SOFTWARE),
    (119, "critical", "the GPU's system processor (GSP) timed out", _SOFTWARE),
    (120, "critical", "error in the GPU's system processor (GSP)", _SOFTWARE),
    (121, "warning", "error on the chip-to-chip link", _WATCH),
    (136, "critical", "NVLink training failed", _NVLINK),
    (137, "application", "NVLink privilege error: access to a peer's memory", _PROGRAM),
    (140, "critical", "unrecovered ECC error", _RESET),
    (141, "warning", "CUDA fast path error", _WATCH),
    (143, "critical", "the GPU could not be initialised", _RESET),
    (144, "critical", "NVLink error (SAW)", _NVLINK),
    (145, "critical", "NVLink error (RLW)", _NVLINK),
    (146, "critical", "NVLink error (TLW)", _NVLINK),
    (147, "critical", "NVLink error (TREX)", _NVLINK),
    (148, "critical", "NVLink error (NVLPW)", _NVLINK),
    (149, "critical", "NVLink error (NETIR)", _NVLINK),
    (150, "critical", "NVLink error (MSE)", _NVLINK),
    (151, "critical", "key rotation error of confidential computing", (REBOOT,)),
    (152, "warning", "memory fault of a deep learning accelerator", _WATCH),
    (153, "warning", "a deep learning accelerator ran out of time", _WATCH),
    (154, "critical", "the driver asks for a recovery", (RESET, Step("reboot", "Reboot the node.", if_back=True))),
    (155, "critical", "NVLink error found by software", _NVLINK),
    (156, "critical", "a part of the GPU was retired", (RESET,)),
    (157, "warning", "a part of the GPU could not be retired", _SUPPORT),
    (158, "critical", "fatal timeout in the GPU", _RESET),
    (159, "warning", "error on the coherent link to the CPU", (RESET_LATER,)),
    (160, "warning", "a memory channel was retired", _WATCH),
    (161, "warning", "a memory channel could not be retired", _SUPPORT),
    (162, "notice", "power smoothing is engaged again", ()),
    (163, "warning", "power smoothing is disengaged", _WATCH),
    (164, "warning", "power smoothing hardware is near the end of its life", _WATCH),
    (165, "warning", "power smoothing hardware is at the end of its life", _SUPPORT),
    (166, "warning", "NVLink traffic that was not encrypted yet", _SUPPORT),
    (
        167,
        "critical",
        "fatal PCIe timeout",
        (REBOOT, Step("replace", "Check the slot and the riser.", if_back=True)),
    ),
    (168, "critical", "errors in protected memory reduce the GPU's memory", _RESET),
    (169, "critical", "the GPU's security controller halted", _RESET),
    (170, "warning", "NVLink interrupt in confidential computing", _SUPPORT),
    (171, "critical", "uncorrectable DRAM error: details of an Xid 48", _RESET),
    (172, "critical", "uncorrectable SRAM error: details of an Xid 48", _RESET),
)

#: Units of one kind have adjacent codes: copy engines, video encoders and decoders, JPEG decoders.
_PROGRAM_ENGINES = (*range(70, 73), *range(75, 78), *range(82, 87), 88, 89, *range(96, 106), *range(126, 136), 139, 142)

#: Faults that only a new board ends, regardless of resets: no spare rows or memory channels left, a power cable missing.
ENDED_BY_REPLACEMENT = frozenset((54, 64, 157, 161, 165))

#: Codes of a GPU that has fallen off the bus: no register answers, its GSP does not respond, it needs a recovery.
LOSS_CODES = frozenset((79, 119, 120, 154))

#: The source of the kinds, and codes with other severities elsewhere: NVIDIA's device plugin for Kubernetes and its DRA driver keep a GPU
#: in use after these (k8s-device-plugin internal/rm/health.go, dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/device_health.go, 2026-11).
SOURCE = "NVIDIA's Xid catalog"
IGNORED_BY_PLUGINS = (13, 31, 43, 45, 68, 109)

CATALOGUE: dict[int, XidMeaning] = {
    **{code: XidMeaning(code, "application", "exception in a copy or media engine", _PROGRAM) for code in _PROGRAM_ENGINES},
    **{row[0]: XidMeaning(*row) for row in _ROWS},
}


def meaning(code: int) -> XidMeaning:
    """The meaning of a code; an unknown one is a warning.

    >>> meaning(79).meaning, meaning(9999).kind
    ('the GPU fell off the bus', 'warning')
    """
    return CATALOGUE.get(code) or XidMeaning(code, "warning", "unknown Xid", _SUPPORT)


def weighed_by(code: int) -> str:
    """The source of a code's kind, in words.

    >>> weighed_by(109)
    "critical by NVIDIA's Xid catalog; NVIDIA's device plugin and DRA driver keep the GPU in use"
    >>> weighed_by(9999)
    "warning: it is not in NVIDIA's Xid catalog"
    """
    if code not in CATALOGUE:
        return f"warning: it is not in {SOURCE}"
    kind = CATALOGUE[code].kind
    goes_on = kind in ("critical", "warning") and code in IGNORED_BY_PLUGINS
    others = "; NVIDIA's device plugin and DRA driver keep the GPU in use" if goes_on else ""
    return f"{kind} by {SOURCE}{others}"
