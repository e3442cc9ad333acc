"""The kubelet's own search, step by step: what matters where a comparison on the way can crash it."""

# prefer-closest-numa-nodes takes a node's id for its place in the row of distances: with gaps in the ids the kubelet panics as
# soon as it compares two sets of one size. At most 300,000 combinations are followed, then the answer is unread.

from collections.abc import Callable
from itertools import product

from hostagent.domains.kubelet.placement.masks import Hints, NoHints, TooManyError

#: Combinations that are walked over.
_MOST = 300_000
_Hint = tuple[int | None, bool]  # a set of nodes, None for no preference; preferred
Distance = Callable[[int], int]


def walk(hints: list[Hints], default: int, distance: Distance) -> _Hint:
    """The best of all combinations, compared in the kubelet's order. `distance` may raise; raises ``TooManyError``."""
    lists: list[list[_Hint]] = []
    combinations = 1
    wanted = 0
    for one in hints:
        found: list[_Hint] = [(None, False)] if isinstance(one, NoHints) else [(mask, one.prefers(mask)) for mask in one.all()]
        wanted = max([wanted, *(min(mask.bit_count() for mask, _ in found if mask) for _ in found[:1] if found[0][0] is not None)])
        combinations *= len(found)
        lists.append(found)
        if combinations > _MOST:
            raise TooManyError
    best: tuple[int, bool] | None = None
    for chosen in product(*lists):
        candidate = _merged(chosen, default)
        if candidate[0]:
            best = candidate if best is None else _better(best, candidate, wanted, distance)
    return best or (default, False)


def _merged(chosen: tuple[_Hint, ...], default: int) -> tuple[int, bool]:
    together = default
    masks = set()
    for mask, _ in chosen:
        if mask is not None:
            together &= mask
            masks.add(mask)
    return together, len(masks) < 2 and all(preferred for _, preferred in chosen)


def _better(current: tuple[int, bool], candidate: tuple[int, bool], wanted: int, distance: Distance) -> tuple[int, bool]:
    if current[1] != candidate[1]:
        return candidate if candidate[1] else current
    here, there = current[0].bit_count(), candidate[0].bit_count()
    if not current[1] and here <= wanted:
        if here == wanted and there != wanted:
            return current
        if here < wanted and there != here:
            return candidate if here < there <= wanted else current
    if current[0] == candidate[0]:
        return current
    if here != there:
        return current if here < there else candidate
    first, second = distance(current[0]), distance(candidate[0])
    return current if (first, current[0]) < (second, candidate[0]) else candidate
