"""Lists of interfaces' names as NCCL reads them: NCCL_SOCKET_IFNAME. Those of HCAs are read by `hostagent.domains.nccl.hca_list`.

Source: NVIDIA/nccl, src/misc/utils.cc (parseStringList, matchIfList), src/misc/socket.cc; the library agrees (tests/real/test_libnccl.py).
"""

from hostagent.core.frozen import frozen
from hostagent.domains.nccl.tables.changes import MAX_NAMES


@frozen
class NameList:
    """``^`` takes what the names do not match, ``=`` compares whole names; else a name is a prefix. No names match all."""

    excludes: bool
    exact: bool
    names: tuple[str, ...]

    def takes(self, name: str) -> bool:
        """Whether the list selects this name.

        >>> parse_names("mlx5_1").takes("mlx5_10"), parse_names("=mlx5_1").takes("mlx5_10"), parse_names("^docker0").takes("lo")
        (True, False, True)
        """
        return self.matches(name) != self.excludes

    def matches(self, name: str) -> bool:
        """Whether one of the names matches, excluded or not."""
        if not self.names:
            return True
        return name in self.names if self.exact else name.startswith(self.names)


def parse_names(text: str) -> NameList:
    """Nothing is trimmed: a space belongs to a name. What follows a colon (a port) belongs to none. Names beyond the 16th are ignored.

    >>> parse_names("^=eth0,eth1:2,,ib0 ")
    NameList(excludes=True, exact=True, names=('eth0', 'eth1', 'ib0 '))
    >>> parse_names("=^eth0").names
    ('^eth0',)
    """
    excludes = text.startswith("^")
    rest = text[1:] if excludes else text
    exact = rest.startswith("=")
    names = (token.split(":", 1)[0] for token in (rest[1:] if exact else rest).split(","))
    return NameList(excludes, exact, tuple(name for name in names if name)[:MAX_NAMES])
