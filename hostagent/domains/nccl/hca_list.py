"""NCCL_IB_HCA as NCCL reads it: names of RDMA devices, each with a port, and from 2.30 on with a rail and a plane.

Source: NVIDIA/nccl, src/misc/utils.cc (parseStringList, matchIfList) and src/transport/net_ib. No library here can be asked: it chooses
HCAs only where there are some.
"""

# At most 16 HCAs, from 2.19 on 32, names of the list too; by PCI address from 2.29.7 on (unless NCCL_IB_DEVICE_PCI_ORDER=0),
# before in libibverbs' order. `mlx5_0:` is port 0 before 2.30 and every port since; `mlx5_0:1:RAIL:PLANE` since 2.30.

import re
from collections.abc import Iterator

from hostagent.core.frozen import frozen
from hostagent.domains.nccl.tables.changes import RAIL_AND_PLANE, Version, max_hcas

_INTEGER = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)", re.ASCII)
_DIGITS = 9
#: Of a port: every one.
ANY = -1


@frozen
class HcaList:
    """``^`` takes what the entries do not match, ``=`` compares whole names; else a name is a prefix. No entries match all."""

    excludes: bool
    exact: bool
    entries: tuple[tuple[str, int], ...]  # name and port

    def takes(self, device: str, port: int) -> bool:
        """Whether the list selects this port.

        >>> parse_hcas("mlx5_1", (2, 28, 9)).takes("mlx5_10", 1), parse_hcas("^=mlx5_1:1", (2, 28, 9)).takes("mlx5_1", 2)
        (True, True)
        """
        matches = not self.entries or any(self.is_match(entry, device, port) for entry in self.entries)
        return matches != self.excludes

    def is_match(self, entry: tuple[str, int], device: str, port: int) -> bool:
        """Whether this entry is one of the port's."""
        name, wanted = entry
        return (device == name if self.exact else device.startswith(name)) and wanted in (ANY, port)


def parse_hcas(value: str, version: Version) -> HcaList:
    """Nothing is trimmed from names. Before 2.30 the port is all behind the first colon, and none there is port 0, which no HCA has.

    >>> parse_hcas("=mlx5_0:1,,mlx5_3", (2, 28, 9))
    HcaList(excludes=False, exact=True, entries=(('mlx5_0', 1), ('mlx5_3', -1)))
    >>> parse_hcas("mlx5_0::2", (2, 28, 9)).entries, parse_hcas("mlx5_0::2", (2, 30, 7)).entries
    ((('mlx5_0', 0),), (('mlx5_0', -1),))
    """
    excludes = value.startswith("^")
    rest = value.removeprefix("^")
    exact = rest.startswith("=")
    entries = tuple(_entries(rest.removeprefix("="), version))
    return HcaList(excludes, exact, entries[: max_hcas(version)])


def _entries(text: str, version: Version) -> Iterator[tuple[str, int]]:
    for token in text.split(","):
        name, colon, port = token.partition(":")
        if version >= RAIL_AND_PLANE:
            port = port.partition(":")[0]
            colon = port
        if name:
            yield name, _number(port) if colon else ANY


def _number(text: str) -> int:
    """As atoi(3) reads it: what is no number is 0, and here what no port can be, too."""
    match = _INTEGER.match(text)
    return int(match[1]) if match and len(match[1]) <= _DIGITS else 0
