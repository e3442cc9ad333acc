"""Versions that changed how NCCL reads its settings and chooses its interface.

Sources: the libraries themselves, asked with ``ncclGetUniqueId`` in network namespaces (2.18.3, 2.21.5, 2.23.4, 2.27.3, 2.28.9, 2.30.7 and
2.32.3 by tests/real/test_libnccl.py; 19 others from 2.18.1 to 2.31.2 once, 2026-11); NVIDIA/nccl: src/misc/{param,socket,utils}.cc,
src/os/linux.cc, src/bootstrap.cc. Entries about HCAs, GIDs, C2C and tuning are from NVIDIA/nccl, src/transport/net_ib, src/graph/paths.cc
and src/graph/tuning.cc, and were not tried with a library.
"""

import re

Version = tuple[int, int, int]

_VERSION = re.compile(r"([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})(?![0-9])")

#: NCCL_NET_PLUGIN may be the name of a file. Before, it is the part between ``libnccl-net-`` and ``.so``.
PLUGIN_FILES: Version = (2, 21, 5)
#: It may be a list; and "none", or nothing, is none. Before, nothing is as if it were not set.
PLUGIN_LISTS: Version = (2, 27, 3)
#: The newest version in these tables.
NEWEST: Version = (2, 32, 3)
#: ``NCCL_CONF_FILE`` names a file that is read instead of ~/.nccl.conf.
CONF_FILE: Version = (2, 23, 4)
#: Home is ``$HOME``, where it was that of the user's entry in passwd; a carriage return at the end of a line is dropped.
HOME_VARIABLE: Version = (2, 30, 3)
#: A line that begins with # is a comment. Before, it set a variable with # in its name.
COMMENTS: Version = (2, 26, 2)
#: Bytes of a value that count.
CUT = 1023
#: Only interfaces that are RUNNING are taken.
RUNNING_ONLY: Version = (2, 28, 3)
#: ``virbr*`` comes last, with docker and lo.
VIRBR_LAST: Version = (2, 28, 3)
#: From the first to before the second, NCCL_COMM_ID has a fault: of IPv4 the first interface is taken that is NOT in its network.
COMM_ID_FAULT: tuple[Version, Version] = ((2, 29, 2), (2, 30, 3))
#: Names in a list that NCCL reads; the rest is ignored.
MAX_NAMES = 16
#: HCAs that NCCL uses: 16, and from this version 32.
MORE_HCAS: Version = (2, 19, 1)
#: Without NCCL_IB_GID_INDEX each port's GID is looked for; before, it is index 0.
_DYNAMIC_GID: Version = (2, 21, 5)
#: A setting that is to be a number and begins with none counts as not set. Before, it is 0. (2.30.7 and 2.32.3 were asked.)
_NO_WORDS: Version = (2, 32, 3)
#: Blanks around the words of NCCL_DEBUG do not matter. (2.28.9 and 2.30.7 were asked.)
BLANKS_IGNORED: Version = (2, 30, 7)
#: NCCL_ALGO and NCCL_PROTO may name functions, and what they say wrongly ends the communicator. Before, it is ignored.
_STRICT_TUNING: Version = (2, 24, 3)
#: On hosts with GPUs joined to the CPU by C2C, a level below P2C disables GPUDirect RDMA with their NICs.
_C2C_BY_LEVEL: Version = (2, 29, 2)
#: HCAs are taken in the order of their PCI addresses; before, in the order in which libibverbs lists them.
HCAS_BY_PCI: Version = (2, 29, 7)
#: A name in NCCL_IB_HCA may be followed by its rail and plane: ``mlx5_0:1:0:1``; an empty port is every port.
RAIL_AND_PLANE: Version = (2, 30, 3)


def parse_nccl_version(text: str) -> "Version | None":
    """The version in a text that NCCL or a package writes; None where there is none.

    >>> parse_nccl_version("NCCL version 2.28.9+cuda12.9"), parse_nccl_version("2.4"), parse_nccl_version("2.26.2.post1")
    ((2, 28, 9), None, (2, 26, 2))
    """
    match = _VERSION.search(text)
    return (int(match[1]), int(match[2]), int(match[3])) if match else None


def finds_gids(version: Version) -> bool:
    """Whether this version looks for each port's GID by itself.

    >>> finds_gids((2, 21, 5)), finds_gids((2, 20, 5))
    (True, False)
    """
    return version >= _DYNAMIC_GID


def stops_at_unknown_words(version: Version) -> bool:
    """Whether unknown words in NCCL_ALGO and NCCL_PROTO end the communicator.

    >>> stops_at_unknown_words((2, 24, 3)), stops_at_unknown_words((2, 23, 4))
    (True, False)
    """
    return version >= _STRICT_TUNING


def ignores_words(version: Version) -> bool:
    """Whether a setting that is to be a number and begins with none counts as not set.

    >>> ignores_words((2, 32, 3)), ignores_words((2, 30, 7))
    (True, False)
    """
    return version >= _NO_WORDS


def has_c2c_level(version: Version) -> bool:
    """Whether a level below P2C disables GPUDirect RDMA over C2C.

    >>> has_c2c_level((2, 29, 2)), has_c2c_level((2, 28, 9))
    (True, False)
    """
    return version >= _C2C_BY_LEVEL


def max_hcas(version: Version) -> int:
    """How many HCAs this version uses at most.

    >>> max_hcas((2, 18, 3)), max_hcas((2, 19, 3))
    (16, 32)
    """
    return 32 if version >= MORE_HCAS else 16
