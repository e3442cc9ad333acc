"""Parses the generic resources of a node of Slurm (Gres), and those in use by jobs (GresUsed)."""

import re
from collections.abc import Iterator
from typing import NamedTuple

#: One kind: name, type, count, and in parentheses on which sockets, or which devices are used.
_ITEM = re.compile(r"\s*([^,:()\s]+)(?::([^,()\s]*))?(?:\(([^()]*)\))?\s*(?:,|\Z)")
_COUNT = re.compile(r"([0-9]{1,15})([kmgtp]?)", re.IGNORECASE | re.ASCII)
_FACTORS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}
#: A MIG profile, alone or behind a product's name: 1g.10gb, a100_3g.20gb, 1g.10gb+me.
_MIG = re.compile(r"(?:.*[^0-9a-z])?(?:[0-9]+c\.)?[0-9]+g\.[0-9]+gb(?:[+.-][a-z.+]+)?", re.IGNORECASE)
_GPU = "gpu"
#: Kinds of shared GPUs: a GPU in use by one of them is given to no job whole.
_SHARES = ("shard", "mps")
_NOTHING = ("", "(null)", "N/A")
#: Of a shared GPU: parts in use, of how many.
_PARTS = re.compile(r"([0-9]+|-)/[0-9]+", re.ASCII)
_INDEX = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)


class Gres(NamedTuple):
    """``detail``: what is in parentheses."""

    name: str
    kind: str
    number: int
    detail: str


class Gpus(NamedTuple):
    """``free``: GPUs that no job uses; None where what is used could not be read."""

    total: int
    free: int | None
    is_mig: bool


class GresError(ValueError):
    """A text that no Slurm prints."""


def gpus_of(gres: str, used: str | None) -> Gpus:
    """The GPUs of a node. Raises ``GresError``.

    >>> gpus_of("gpu:h100:8(S:0-1)", "gpu:h100:3(IDX:0,2-3)"), gpus_of("gpu:a100:2,shard:8", "gpu:a100:0(IDX:N/A),shard:3(3/4,0/4)")
    (Gpus(total=8, free=5, is_mig=False), Gpus(total=2, free=1, is_mig=False))
    >>> gpus_of("gpu:1g.10gb:7", None), gpus_of("(null)", "")
    (Gpus(total=7, free=None, is_mig=True), Gpus(total=0, free=0, is_mig=False))
    """
    gpus = [one for one in parse_gres(gres) if one.name == _GPU]
    count, is_mig = sum(one.number for one in gpus), any(_MIG.fullmatch(one.kind) for one in gpus)
    if not count:
        return Gpus(0, 0, is_mig)
    try:
        found = parse_gres(used or "")
    except GresError:
        found = ()
    if not any(one.name == _GPU for one in found):
        return Gpus(count, None, is_mig)
    taken = sum(one.number for one in found if one.name == _GPU) + sum(_shared(one) for one in found if one.name in _SHARES)
    return Gpus(count, max(0, count - taken), is_mig)


def parse_gres(text: str) -> tuple[Gres, ...]:
    """Raises ``GresError``.

    >>> parse_gres("gpu:2,gpu:h100"), parse_gres("N/A")
    ((Gres(name='gpu', kind='', number=2, detail=''), Gres(name='gpu', kind='h100', number=1, detail='')), ())
    """
    return () if text.strip() in _NOTHING else tuple(_items(text.strip()))


def _items(text: str) -> Iterator[Gres]:
    at = 0
    while at < len(text):
        found = _ITEM.match(text, at)
        if not found:
            raise GresError(text)
        at = found.end()
        *kinds, last = (found[2] or "").split(":")
        number = _COUNT.fullmatch(last)
        if not number and last:
            kinds.append(last)
        count = int(number[1]) * _FACTORS[number[2].lower()] if number else 1
        yield Gres(found[1], ":".join(kinds), count, found[3] or "")


def _shared(one: Gres) -> int:
    """How many GPUs jobs share at least in parts: as many as they have parts where nothing says on which GPUs these are."""
    if not one.number:
        return 0
    if parts := _PARTS.findall(one.detail):
        return sum(each not in ("-", "0") for each in parts)
    name, _, places = one.detail.partition(":")
    indices = [_INDEX.fullmatch(each) for each in places.split(",")]
    if name == "IDX" and all(indices):
        return sum(int(each[2] or each[1]) - int(each[1]) + 1 for each in indices if each)
    return one.number
