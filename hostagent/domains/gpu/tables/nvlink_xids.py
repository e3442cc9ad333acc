"""NVLink faults by unit and error status (Xid 144 to 150), and by register (Xid 74): what NVIDIA's catalogue says of each.

Sources: NVIDIA, Xid-Catalog.xlsx, sheet "Xid 144-150 Decode", and its resolution bucket WORKFLOW_NVLINK_ERR; both as leptonai/gpud
(catalog_generated.go of 2025-10-29) and NVIDIA/NVSentinel issue 364 repeat them; read 2026-11. The words are ours.

The driver writes ``145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 06 (0x04085a07 0x00000004 …)``: unit, severity, link, then words. The first word
describes the interrupt (its bits 20 to 25 are a sub-code), the second is the error status.

``resolution``: *none*, the hardware recovered; *job*, the recovery action of an Xid 154 applies, and without one the job starts again
(bucket XID_154_EVAL); *reset*, the GPU is reset. ``look``: where the cause is sought when the fault comes back.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

Resolution = Literal["none", "job", "reset"]
Look = Literal["", "vendor", "link", "cables", "peer", "host", "software"]
#: What a fault does to the jobs of this GPU and of its peers, as the catalogue's column "Local/Remote" has it.
Effect = Literal["none", "application", "poison", "packets", "gpu", "link"]

CODES = range(144, 151)


class NvlinkFault(NamedTuple):
    """One row: a unit's error status."""

    code: int
    unit: str
    status: int
    resolution: Resolution
    effect: Effect
    look: Look = ""
    subcode: int = 0

    @property
    def is_fatal(self) -> bool:
        return self.effect in ("gpu", "link") or self.resolution == "reset"


#: Older drivers' names of a unit.
_ALIASES = {
    "NETIR": "NETIR_INT",
    "NETIR_LINK_EVT": "NETIR_LINK_DOWN",
    "NVLPW": "NVLPW_CTRL",
    "MSE": "MSE_WATCHDOG",
    "TLW_RX": "TLW_RX_PIPE0",
    "TLW_TX": "TLW_TX_PIPE0",
}
_LINK_DOWN = "NETIR_LINK_DOWN"
#: Units whose status is a number; that of the others is a set of bits.
_NUMBERED = ("NETIR", "MSE")
#: A message of the driver's own software about the unit.
_SOFTWARE = 0x80000000

_ROWS: tuple[tuple[int, str, int, Resolution, Effect, Look], ...] = (
    (144, "SAW_MVB", 0x1, "none", "poison", "vendor"),
    (144, "SAW_MVB", 0x2, "reset", "gpu", "vendor"),
    (144, "SAW_MVB", 0x4, "none", "none", ""),
    (144, "SAW_MVB", 0x8, "none", "poison", "vendor"),
    (144, "SAW_MVB", 0x10, "reset", "gpu", "vendor"),
    (144, "SAW_MVB", 0x20, "none", "none", ""),
    (145, "RLW_REMAP", 0x1, "job", "application", "vendor"),
    (145, "RLW_REMAP", 0x2, "job", "application", "vendor"),
    (145, "RLW_REMAP", 0x4, "job", "application", "link"),
    (145, "RLW_REMAP", 0x8, "job", "application", "link"),
    (145, "RLW_REMAP", 0x10, "job", "application", "link"),
    (145, "RLW_REMAP", 0x20, "job", "application", "link"),
    (145, "RLW_REMAP", 0x40, "reset", "gpu", "vendor"),
    (145, "RLW_REMAP", 0x80, "reset", "gpu", "vendor"),
    (145, "RLW_REMAP", 0x100, "none", "none", ""),
    (145, "RLW_REMAP", 0x200, "none", "none", ""),
    (145, "RLW_RSPCOL", 0x1, "none", "none", ""),
    (145, "RLW_RSPCOL", 0x2, "reset", "gpu", "vendor"),
    (145, "RLW_RXPIPE", 0x1, "none", "packets", "vendor"),
    (145, "RLW_RXPIPE", 0x2, "none", "packets", "vendor"),
    (145, "RLW_RXPIPE", 0x4, "none", "packets", "vendor"),
    (145, "RLW_RXPIPE", 0x8, "none", "none", "vendor"),
    (145, "RLW_SRC_TRACK", 0x1, "reset", "gpu", "vendor"),
    (145, "RLW_SRC_TRACK", 0x2, "none", "none", ""),
    (145, "RLW_SRC_TRACK", 0x4, "job", "application", ""),
    (145, "RLW_SRC_TRACK", 0x8, "job", "application", ""),
    (145, "RLW_SRC_TRACK", 0x10, "reset", "gpu", "vendor"),
    (145, "RLW_SRC_TRACK", 0x20, "reset", "gpu", "vendor"),
    (145, "RLW_TAGSTATE", 0x1, "none", "none", ""),
    (145, "RLW_TAGSTATE", 0x2, "reset", "gpu", "vendor"),
    (145, "RLW_TAGSTATE", 0x10000, "none", "none", ""),
    (145, "RLW_TAGSTATE", 0x20000, "reset", "gpu", "vendor"),
    (145, "RLW_TAGSTATE", 0x100000, "reset", "gpu", "vendor"),
    (147, "TREX", 0x1, "none", "none", "vendor"),
    (149, "NETIR_INT", 0x0, "reset", "link", "vendor"),
    (149, "NETIR_BER_EVENT", 0x0, "none", "none", "cables"),
    (149, "NETIR_BER_EVENT", 0x1, "none", "none", "cables"),
    (149, "NETIR_BER_EVENT", 0x2, "none", "none", "cables"),
    (149, "NETIR_BER_EVENT", 0x3, "none", "none", "cables"),
    (149, "NETIR_MFDE_EVENT", 0x1, "reset", "gpu", "vendor"),
    (149, "NETIR_MFDE_EVENT", 0x3, "none", "none", ""),
    (149, "NETIR_MFDE_EVENT", 0x4, "reset", "gpu", "vendor"),
    (149, "NETIR_MFDE_EVENT", 0x5, "reset", "gpu", "vendor"),
    (149, "NETIR_MFDE_EVENT", 0x7, "reset", "gpu", "vendor"),
    (150, "MSE_WATCHDOG", 0x0, "reset", "gpu", "vendor"),
)
#: Rows that several units have alike.
_PIPES = ("TLW_CTRL", "TLW_RX_PIPE0", "TLW_RX_PIPE1", "TLW_TX_PIPE0", "TLW_TX_PIPE1")
_PIPE_ROWS: tuple[tuple[int, Resolution, Effect, Look], ...] = (
    (0x1, "none", "none", ""),
    (0x2, "none", "poison", "vendor"),
    (0x4, "reset", "gpu", "vendor"),
)
_REPORTERS = (
    *((145, unit) for unit in ("RLW_CTRL", "RLW_REMAP", "RLW_RSPCOL", "RLW_RXPIPE", "RLW_SRC_TRACK", "RLW_TAGSTATE")),
    *((146, unit) for unit in _PIPES),
    (147, "TREX"),
    (148, "NVLPW_CTRL"),
)
#: Why a link went down, by the sub-code of NETIR_LINK_DOWN.
_DOWN: tuple[tuple[int, Resolution, Look], ...] = (
    (0b000000, "reset", "vendor"),
    (0b000001, "reset", "vendor"),
    (0b000010, "reset", "link"),
    (0b000100, "reset", "link"),
    (0b001010, "reset", "link"),
    (0b001111, "reset", "software"),
    (0b010000, "reset", "software"),
    (0b010001, "reset", "software"),
    (0b010010, "reset", "software"),
    (0b010101, "reset", "peer"),
    (0b010110, "reset", "software"),
    (0b100000, "reset", "peer"),
    (0b100001, "reset", "peer"),
    (0b100010, "reset", "peer"),
    (0b100011, "reset", "peer"),
    (0b100100, "reset", "peer"),
    (0b100101, "reset", "peer"),
    (0b100110, "none", "software"),
    (0b101000, "none", "host"),
    (0b101010, "reset", "cables"),
    (0b101011, "reset", "cables"),
)

NVLINK_FAULTS: tuple[NvlinkFault, ...] = tuple(
    sorted(
        (
            *(NvlinkFault(*row) for row in _ROWS),
            *(NvlinkFault(146, unit, *row) for unit in _PIPES for row in _PIPE_ROWS),
            *(NvlinkFault(code, unit, _SOFTWARE, "none", "none", "vendor") for code, unit in _REPORTERS),
            *(NvlinkFault(149, _LINK_DOWN, 0, resolution, "link", look, subcode) for subcode, resolution, look in _DOWN),
        ),
        key=lambda row: (row.code, row.unit, row.status, row.subcode),
    )
)
_ORDER: tuple[Resolution, ...] = ("none", "job", "reset")

#: RLW_RXPIPE lost packets: the GPU is reset where a bit of the first word is set (the catalogue's "Action 2"). Drivers before R575 write
#: unit and family in ten bits, with that bit behind them; later ones the unit in seven.
_RXPIPE, _RXPIPE_OLD, _RXPIPE_NEW = "RLW_RXPIPE", (0x3FF, 0x0C2, 1 << 10), (0x7F, 0x06, 1 << 7)


def nvlink_fault(code: int, unit: str, words: tuple[int, ...]) -> "NvlinkFault | None":
    """The row of a line, of several bits the most severe; None if the catalogue has none, or without a status that decides.

    >>> nvlink_fault(145, "RLW_SRC_TRACK", (0x04085A07, 0x4)).resolution, nvlink_fault(145, "RLW_SRC_TRACK", (0x04085A07, 0x14)).resolution
    ('job', 'reset')
    >>> nvlink_fault(149, "NETIR_LINK_EVT", (0x025001C6, 0)).look, nvlink_fault(145, "RLW_SRC_TRACK", ())
    ('peer', None)
    """
    name = _ALIASES.get(unit, unit)
    rows = [row for row in NVLINK_FAULTS if (row.code, row.unit) == (code, name)]
    if name == _LINK_DOWN and words:
        rows = [row for row in rows if row.subcode == words[0] >> 20 & 0x3F]
    elif len(words) > 1:
        rows = _of_status(rows, name, words[1])
    if not rows or (len(words) < 2 and len({(row.resolution, row.is_fatal) for row in rows}) > 1):
        return None
    worst = max(rows, key=lambda row: _ORDER.index(row.resolution))
    return worst._replace(resolution="reset") if _lost_packets(worst, words) else worst


def _of_status(rows: list[NvlinkFault], unit: str, status: int) -> list[NvlinkFault]:
    if unit.startswith(_NUMBERED):
        return [row for row in rows if row.status == status]
    return [row for row in rows if row.status & status]


def _lost_packets(row: NvlinkFault, words: tuple[int, ...]) -> bool:
    """Whether packets were lost for good: the catalogue's second condition."""
    if row.unit != _RXPIPE or row.effect != "packets" or not words:
        return False
    return any(words[0] & mask == unit and words[0] & flag for mask, unit, flag in (_RXPIPE_OLD, _RXPIPE_NEW))


RegisterClass = Literal["ignored", "corrected", "secondary", "parity", "mechanical", "signal", "repeated", "unexpected", "fabric"]

#: Xid 74: register (the first is 0), its bits, their class. Valid for Hopper alone.
REGISTERS: tuple[tuple[int, tuple[int, ...], RegisterClass], ...] = (
    (0, (0, 23, 30), "ignored"),
    (0, (1, 20), "secondary"),
    (0, (4, 5), "parity"),
    (0, (8, 9, 12, 16, 17, 24, 28), "mechanical"),
    (0, (21, 22), "signal"),
    (0, (27, 29), "repeated"),
    (2, (0, 1, 2, 6), "parity"),
    (2, (13,), "unexpected"),
    (2, (16, 17, 18, 19), "repeated"),
    (3, (16, 17), "secondary"),
    (3, (18,), "fabric"),
    (4, (18, 19, 21, 22, 24, 25, 27, 28), "parity"),
    (4, (20, 23, 26, 29), "corrected"),
)
#: Of a register that describes no fault of its own.
HARMLESS = frozenset(("ignored", "corrected"))
_READ = frozenset(register for register, _, _ in REGISTERS)
_HOPPER = "9.0"


def register_classes(words: tuple[int, ...], compute_capability: str) -> frozenset[str]:
    """The classes of the set bits, "unknown" for a bit without one; none if the registers mean nothing on this GPU.

    >>> sorted(register_classes((0x100001, 0, 0, 0, 0, 0, 0), "9.0")), register_classes((0x100001,) * 7, "8.0")
    (['ignored', 'secondary'], frozenset())
    """
    if compute_capability != _HOPPER or len(words) <= max(_READ):
        return frozenset()
    classes = {(register, bit): name for register, bits, name in REGISTERS for bit in bits}
    return frozenset(classes.get((register, bit), "unknown") for register in _READ for bit in _bits(words[register]))


def _bits(word: int) -> Iterable[int]:
    return (bit for bit in range(32) if word >> bit & 1)
