"""The common part of hints on machines with too many NUMA nodes to try every set of them.

With more than a few nodes every hint grows with its set: what fits a set fits each larger one. A set X is then what some hints have
in common if every node outside X can be left out by one of the resources, and each resource still fits without the nodes that it
leaves out. Nodes that hold nothing of a resource cost it nothing, so that a handful remains to be tried.
"""

from collections.abc import Iterator

from hostagent.domains.kubelet.placement.masks import BUDGET, Hints, TooManyError, bits, choose


def reachable(hints: list[Hints], size: int) -> Iterator[int]:
    """The sets of `size` nodes that are what some hints have in common, the lowest number first; raises ``TooManyError``."""
    together = -1
    for one in hints:
        together &= one.universe
    tried = _Steps()
    for mask in choose(bits(together), size):
        if _is_common(hints, mask, together, tried):
            yield mask


class _Steps:
    def __init__(self) -> None:
        self.left = BUDGET

    def count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise TooManyError


def _is_common(hints: list[Hints], mask: int, together: int, tried: _Steps) -> bool:
    tried.count()
    outside = together & ~mask
    rest = outside
    for one in hints:
        rest &= one.needed
    allowed = [one.universe & (mask | one.needed) for one in hints]
    return _leave_out(hints, allowed, bits(rest), tried)


def _leave_out(hints: list[Hints], allowed: list[int], rest: tuple[int, ...], tried: _Steps) -> bool:
    """Whether each node of `rest` can be left out by one resource; `allowed` is what each may still use."""
    tried.count()
    if not all(one.fits(mask) for one, mask in zip(hints, allowed, strict=True)):
        return False
    if not rest:
        return True
    bit = 1 << rest[0]
    return any(
        _leave_out(hints, [*allowed[:place], allowed[place] & ~bit, *allowed[place + 1 :]], rest[1:], tried) for place in range(len(hints))
    )
