"""NCCL_ALGO and NCCL_PROTO: which algorithms and protocols a job may still use.

Source: NVIDIA/nccl, src/graph/tuning.cc (parseList): from 2.24 on ``ring;allreduce:tree,nvls;reduce:^ring``, before ``^tree`` or
``ring,tree`` for all functions, whatever else it says.
"""

from collections.abc import Mapping

from hostagent.core.frozen import frozen
from hostagent.domains.nccl.tables.changes import Version, stops_at_unknown_words

#: All that any version knows, in NCCL's own spelling; case does not matter.
WORDS: Mapping[str, tuple[str, ...]] = {
    "NCCL_ALGO": ("Tree", "Ring", "CollNetDirect", "CollNetChain", "NVLS", "NVLSTree", "PAT"),
    "NCCL_PROTO": ("LL", "LL128", "Simple"),
}
#: Since when which of these: CollNetDirect and CollNetChain were CollNet before 2.14, which counts as 2.18 here.
_PAT: Version = (2, 23, 4)
_FUNCTIONS = ("broadcast", "reduce", "allgather", "reducescatter", "allreduce", "sendrecv", "allgatherv", "send", "recv", "alltoall")
#: They have the ring alone.
_RING_ONLY = ("broadcast", "reduce")


@frozen
class Tuning:
    """The algorithms or protocols that a list allows."""

    wrong: str  # the first part that this version does not know, "" where it knows all
    forces_ll128: bool
    without_ring: tuple[str, ...]  # functions that have no algorithm left


def read(name: str, value: str, version: Version) -> Tuning:
    """Parses NCCL_ALGO or NCCL_PROTO.

    >>> read("NCCL_ALGO", "Ring,Tre", (2, 28, 9)).wrong, read("NCCL_ALGO", "allreduce:tree", (2, 21, 5)).wrong
    ('Tre', 'allreduce:tree')
    >>> read("NCCL_ALGO", "NVLS", (2, 28, 9)).without_ring, read("NCCL_ALGO", "ring;allreduce:nvls", (2, 28, 9)).without_ring
    (('broadcast', 'reduce'), ())
    >>> read("NCCL_PROTO", "^LL128", (2, 28, 9)).forces_ll128, read("NCCL_PROTO", "LL128,Simple", (2, 28, 9)).forces_ll128
    (False, True)
    """
    known = {word.lower() for word in WORDS[name] if word != "PAT" or version >= _PAT}
    is_strict = stops_at_unknown_words(version)
    wrong, forces, lacking = "", False, dict.fromkeys(_RING_ONLY, False)
    for number, part in enumerate([one for one in value.split(";") if one] if is_strict else [value]):
        function, colon, rest = part.partition(":") if is_strict else ("", "", part)
        text = rest if colon else part
        excludes = text.startswith("^")
        words = [word for word in text.removeprefix("^").split(",") if word]
        bad = next((word for word in words if word.lower() not in known), "")
        if colon and function.lower() not in _FUNCTIONS:
            bad = function
        elif not colon and number:
            bad = part  # it would undo what is before it
        wrong = wrong or bad
        named = {word.lower() for word in words}
        forces = forces or ("ll128" in named and not excludes)
        for one in lacking if not colon else (function.lower(),):
            if one in lacking:
                lacking[one] = ("ring" in named) == excludes
    is_judged = name == "NCCL_ALGO" and is_strict and not wrong
    return Tuning(wrong, forces, tuple(one for one, lacks in lacking.items() if lacks) if is_judged else ())
