"""The RDMA part of a profile."""

import re
from collections.abc import Iterator
from typing import Literal

from hostagent.core.frozen import frozen
from hostagent.core.typed import Mistake

#: As NCCL reads NCCL_IB_HCA: ^ excludes, = is exact, then names with or without a port (NCCL documentation, Environment Variables).
_HCA = r"[A-Za-z0-9_.-]{1,63}(:[1-9][0-9]{0,2})?"
_HCAS = re.compile(rf"(\^?=?{_HCA}(,{_HCA}){{0,127}})?")
_ACTIVE_MTUS = (256, 512, 1024, 2048, 4096)


@frozen
class RdmaPolicy:
    """RDMA ports of a ready host; 0, "" and any accept anything.

    ``required`` auto: where a NIC on PCI supports RDMA. ``peermem``: nvidia_peermem must be loaded. ``hcas``: the ports that jobs use, as
    NCCL_IB_HCA takes them, "" for those that are nearest to the GPUs. ``traffic_class``: the NCCL_IB_TC of jobs.
    """

    required: Literal["auto", "yes", "no"]
    peermem: bool
    hcas: str
    link_layer: Literal["any", "InfiniBand", "Ethernet"]
    rate_gbps: int
    netdev_mtu: int
    active_mtu: int
    traffic_class: int
    lossless_priority: int | Literal["any"]


def impossible_ports(rdma: RdmaPolicy) -> Iterator[Mistake]:
    """Impossible settings of ports."""
    if not _HCAS.fullmatch(rdma.hcas):
        problem = f'found {rdma.hcas!r:.60}, wanted what NCCL_IB_HCA takes, such as "=mlx5_0,mlx5_1:1" or "^mlx5_bond_0", without blanks'
        yield Mistake(("rdma", "hcas"), problem)
    if rdma.active_mtu and rdma.active_mtu not in _ACTIVE_MTUS:
        problem = f"found {rdma.active_mtu!r:.60}, wanted 0 (any) or one of {', '.join(map(str, _ACTIVE_MTUS))}"
        yield Mistake(("rdma", "active_mtu"), problem)
    for key, value, least, most, zero in (
        ("rate_gbps", rdma.rate_gbps, 1, 100_000, "0 (any) or Gb/s of a port, such as 400"),
        ("netdev_mtu", rdma.netdev_mtu, 68, 65535, "0 (any) or bytes from 68 to 65535, such as 9000"),
        ("traffic_class", rdma.traffic_class, 1, 255, "0 (any) to 255: four times the DSCP, such as 104"),
    ):
        if value and not least <= value <= most:
            yield Mistake(("rdma", key), f"found {value!r:.60}, wanted {zero}")
    if rdma.lossless_priority != "any" and not 0 <= rdma.lossless_priority <= 7:
        yield Mistake(("rdma", "lossless_priority"), f"found {rdma.lossless_priority!r:.60}, wanted any, or a priority from 0 to 7")
