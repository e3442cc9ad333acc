"""The variables that NCCL reads: first and last version, kind of value, and default.

Sources: names and defaults are those in NVIDIA's own libraries (2.18.1 to 2.32.3); what is allowed is in NCCL's documentation of
environment variables and in NVIDIA/nccl, src/graph/topo.{h,cc}, src/debug.cc, src/transport/net_ib. Versions before 2.18 count as 2.18.1.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal, NamedTuple

from hostagent.domains.nccl.tables.changes import Version

Kind = Literal["number", "words", "level", "names", "file", "plugin", "address", "text"]

PREFIX = "NCCL_"


class Variable(NamedTuple):
    """A row: ``IB_TC 2.18.1 number 0 2.26.2:-1`` was 0 by default and is -1 since 2.26.2; ``2.18.1-2.21.5`` is gone after 2.21.5."""

    name: str
    since: Version  # 2.18.1: or earlier
    until: Version | None  # the last version that has it; None where 2.32.3 does
    kind: Kind
    defaults: tuple[tuple[Version, str], ...]  # since when which; "unset": decided by the communicator's configuration, -2: by NCCL itself

    def known_to(self, version: Version) -> bool:
        """Whether this version reads it. Later than what the table has seen, nothing has gone."""
        return self.since <= max(version, OLDEST) and (self.until is None or version <= self.until)

    def default(self, version: Version) -> str:
        """The default; "" where it is unknown or empty.

        >>> [variables()["NCCL_IB_TIMEOUT"].default(one) for one in ((2, 21, 5), (2, 28, 9))]
        ['18', '20']
        """
        return next((value for since, value in reversed(self.defaults) if since <= max(version, OLDEST)), "")


#: The first version in the table.
OLDEST: Version = (2, 18, 1)

#: Words that a variable takes; NCCL ignores others in silence. Levels: see `levels`.
_WORDS: Mapping[str, tuple[str, ...]] = {
    "NCCL_DEBUG": ("VERSION", "WARN", "ATTN", "INFO", "ABORT", "TRACE"),
    "NCCL_IB_ADDR_FAMILY": ("AF_INET", "AF_INET6"),
    "NCCL_LAUNCH_MODE": ("GROUP", "PARALLEL"),
    "NCCL_SOCKET_FAMILY": ("AF_INET", "AF_INET6"),
}
_ATTN: Version = (2, 32, 3)
#: In whatever case; that of all other words matters.
ANY_CASE = ("NCCL_DEBUG",)
#: First and last number that means something; a default outside of it (-1, -2) leaves the choice to NCCL.
RANGES: Mapping[str, tuple[int, int]] = {
    "NCCL_CROSS_NIC": (0, 2),
    "NCCL_DMABUF_ENABLE": (0, 1),
    "NCCL_IB_DISABLE": (0, 1),
    "NCCL_IB_PCI_RELAXED_ORDERING": (0, 2),
    "NCCL_IB_QPS_PER_CONNECTION": (1, 128),
    "NCCL_IB_RETRY_CNT": (0, 7),
    "NCCL_IB_ROCE_VERSION_NUM": (1, 2),
    "NCCL_IB_SL": (0, 15),
    "NCCL_IB_TC": (0, 255),
    "NCCL_IB_TIMEOUT": (1, 31),
    "NCCL_MNNVL_ENABLE": (0, 2),
    "NCCL_NET_GDR_C2C": (0, 1),
    "NCCL_NET_GDR_READ": (0, 1),
    "NCCL_NVLS_ENABLE": (0, 2),
    "NCCL_P2P_DISABLE": (0, 1),
    "NCCL_SHM_DISABLE": (0, 1),
}
#: Prefixes of other programs' variables: nccl-rdma-sharp-plugins, Google's plug-ins, PyTorch before 2.2 (now TORCH_NCCL_…), builds.
READ_BY_OTHERS: Mapping[str, str] = {
    "NCCL_IBEXT_": "nccl-rdma-sharp-plugins",
    "NCCL_PLUGIN_P2P": "nccl-rdma-sharp-plugins",
    "NCCL_SHARP_": "nccl-rdma-sharp-plugins",
    "NCCL_GPUDIRECTTCPX_": "GPUDirect-TCPX",
    "NCCL_FASTRAK_": "GPUDirect-TCPXO",
    "NCCL_TUNER_CONFIG_PATH": "a tuner plug-in",
    "NCCL_ASYNC_ERROR_HANDLING": "PyTorch",
    "NCCL_BLOCKING_WAIT": "PyTorch",
    "NCCL_DESYNC_DEBUG": "PyTorch",
    "NCCL_CTRAN_": "Meta's NCCLX",
    "NCCL_DYNAMIC_CHUNK_SIZE": "GPUDirect-TCPXO",
    "NCCL_HOME": "builds",
    "NCCL_INCLUDE_DIR": "builds",
    "NCCL_LIB_DIR": "builds",
    "NCCL_LIBRARY": "builds",
    "NCCL_ROOT": "builds",
    "NCCL_TESTS_": "nccl-tests",
    "NCCL_VERSION": "images of CUDA",
}
#: Names of NCCL's documentation that no version from 2.18 on reads.
LONG_GONE = ("NCCL_IB_CUDA_SUPPORT", "NCCL_LL_THRESHOLD", "NCCL_RINGS", "NCCL_SINGLE_RING_THRESHOLD", "NCCL_TREE_THRESHOLD")
#: Words of a level (NCCL_NET_GDR_LEVEL, NCCL_P2P_LEVEL), the nearest first, since which version. Case matters.
_LEVELS: tuple[tuple[Version, tuple[str, ...]], ...] = (
    ((2, 28, 3), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS")),
    ((2, 27, 3), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "P2C", "PHB", "SYS")),
    ((2, 26, 2), ("LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "PXN", "PHB", "SYS")),
    ((0, 0, 0), ("LOC", "NVL", "NVB", "PIX", "PXB", "PXN", "PHB", "SYS")),
)
#: What a level written as a number means, from 0 on; a higher one is the last.
NUMBERED_LEVELS = ("LOC", "PIX", "PXB", "PHB", "SYS")


def levels(version: Version) -> tuple[str, ...]:
    """The words that a level may be, the nearest first.

    >>> "P2C" in levels((2, 26, 5)), "P2C" in levels((2, 28, 9))
    (False, True)
    """
    return next(words for since, words in _LEVELS if version >= since)


def words(name: str, version: Version) -> tuple[str, ...]:
    """The allowed values of this variable; () where there is no closed list.

    >>> words("NCCL_DEBUG", (2, 32, 3))[:3], words("NCCL_SOCKET_IFNAME", (2, 32, 3))
    (('VERSION', 'WARN', 'ATTN'), ())
    """
    kind = variables()[name].kind if name in variables() else ""
    if kind == "level":
        return levels(version)
    return tuple(word for word in _WORDS.get(name, ()) if word != "ATTN" or version >= _ATTN)


@cache
def variables() -> Mapping[str, Variable]:
    """All of them by name."""
    from hostagent.domains.nccl.tables import core_names, network_names

    rows = (*network_names.ROWS.splitlines(), *core_names.ROWS.splitlines())
    return {one.name: one for one in map(parse_row, rows)}


def known_to(version: Version) -> frozenset[str]:
    """The names that this version reads.

    >>> "NCCL_IB_ADDR_RANGE" in known_to((2, 18, 3)), "NCCL_IB_ADDR_RANGE" in known_to((2, 21, 5))
    (False, True)
    """
    return frozenset(name for name, one in variables().items() if one.known_to(version))


def read_by(name: str) -> str:
    """The other program that reads this name; "" if none is known.

    >>> read_by("NCCL_IBEXT_DISABLE"), read_by("NCCL_IB_HCAS")
    ('nccl-rdma-sharp-plugins', '')
    """
    return next((reader for prefix, reader in READ_BY_OTHERS.items() if name.startswith(prefix)), "")


def parse_row(row: str) -> Variable:
    """One line of the tables.

    >>> parse_row("IB_TC 2.18.1-2.21.5 number 0 2.20.5:-1")[1:]
    ((2, 18, 1), (2, 21, 5), 'number', (((2, 18, 1), '0'), ((2, 20, 5), '-1')))
    """
    name, versions, kind, *values = row.split()
    since, _, until = versions.partition("-")
    first = _version(since)
    pairs = (value.rpartition(":")[::2] for value in values)
    defaults = tuple((_version(at) if at else first, value) for at, value in pairs)
    return Variable(f"{PREFIX}{name}", first, _version(until) if until else None, kind, defaults)  # type: ignore[arg-type]


def _version(text: str) -> Version:
    major, minor, patch = map(int, text.split("."))
    return major, minor, patch
