"""Suggests the intended variable for a name that NCCL does not know."""

import re

from hostagent.domains.nccl.tables.variables import PREFIX, variables

_NAME = re.compile(r"[A-Z0-9_]+")
_ALIKE = 0.84
#: A longer name is no slip of the pen, and comparing takes the product of both lengths.
_LONGEST = 64


def nearest(name: str) -> str:
    """The nearest known variable; "" where none is near.

    >>> nearest("NCCL_IB_HCAS"), nearest("NCCL_SOCKET_IFNAMES"), nearest("NCCL_FROBNICATE")
    ('NCCL_IB_HCA', 'NCCL_SOCKET_IFNAME', '')
    """
    if len(name) > _LONGEST:
        return ""
    import difflib  # only where a name is unknown

    return next(iter(difflib.get_close_matches(name, variables(), n=1, cutoff=_ALIKE)), "")


def written(name: str) -> str:
    """The intended name: NCCL takes all before the first ``=`` as the name. "" where it is none of NCCL's.

    >>> written("export NCCL_DEBUG"), written("NCCL_DEBUG "), written("PATH"), written("NCCL_DEBUG")
    ('NCCL_DEBUG', 'NCCL_DEBUG', '', 'NCCL_DEBUG')
    """
    words = name.split()
    bare = words[-1] if words else ""
    return bare if bare.startswith(PREFIX) and _NAME.fullmatch(bare) else ""
