"""Network cards: which of them are made for RDMA, by PCI ids, and what the ports of a board can do, by its id (PSID).

Sources (read 2026-11): PCI ID database; Linux kernel, mlx5_core_pci_table and efa_pci_tbl (amzn-drivers, efa_main.c: 0xefa0 to 0xefa3);
mlxfwmanager's descriptions of MCX75310AAS-NEAT (MT_0000000838: 400GbE / NDR, single-port OSFP) and of MCX653105A-HDAT
(MT_0000000223: HDR 200 Gb/s and 200GbE, single-port QSFP56).
"""

from typing import NamedTuple

_MELLANOX, _AMAZON = "0x15b3", "0x1d0f"


class Card(NamedTuple):
    """A kind of card, with the module that makes its RDMA devices."""

    driver: str  # of the PCI function
    rdma_module: str


_CONNECTX = Card("mlx5_core", "mlx5_ib")
_EFA = Card("efa", "efa")
#: By vendor and device. Ethernet cards for 25 and 50 Gb/s are left out: they can RDMA, but are not bought for it.
_CARDS = {
    **{(_MELLANOX, device): _CONNECTX for device in ("0x1013", "0x1017", "0x1019", "0x101b", "0x101d", "0x1021", "0x1023", "0x1025")},
    **{(_MELLANOX, device): _CONNECTX for device in ("0xa2d6", "0xa2dc")},  # BlueField-2 and -3
    **{(_AMAZON, device): _EFA for device in ("0xefa0", "0xefa1", "0xefa2", "0xefa3")},
}
#: Gb/s of each port, of boards with one full rate on all ports.
_RATES = {"MT_0000000838": 400, "MT_0000000223": 200}


def card(vendor_id: str, device_id: str) -> "Card | None":
    """The kind of a card that is made for RDMA; None for others, and for virtual functions.

    >>> card("0x15b3", "0x1021"), card("0x8086", "0x1563")
    (Card(driver='mlx5_core', rdma_module='mlx5_ib'), None)
    """
    return _CARDS.get((vendor_id, device_id))


def board_rate(board_id: str) -> int:
    """Gb/s that each port of this board can do, 0 where that is not known.

    >>> board_rate("MT_0000000838"), board_rate("")
    (400, 0)
    """
    return _RATES.get(board_id, 0)
