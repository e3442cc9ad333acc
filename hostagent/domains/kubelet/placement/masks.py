"""Sets of NUMA nodes as bits, and the hints that a resource gives about them."""

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

#: Up to so many nodes every set of them is looked at; beyond it only those that can be an answer.
FEW = 8
#: Sets that are looked at before the answer is "not known".
BUDGET = 4_000


class TooManyError(Exception):
    """More sets of nodes than are looked at."""


def mask_of(ids: Iterable[int]) -> int:
    mask = 0
    for number in ids:
        mask |= 1 << number
    return mask


def bits(mask: int) -> tuple[int, ...]:
    """The numbers of the bits that are set, lowest first."""
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return tuple(found)


def subsets(ids: tuple[int, ...]) -> Iterator[int]:
    """Every set but the empty one, small ones first."""
    for size in range(1, len(ids) + 1):
        for chosen in combinations(ids, size):
            yield mask_of(chosen)


class Hints:
    """The hints of one resource: the sets of nodes that can serve it now, and the preferred ones of them.

    `holders` are the nodes that hold any of it: no preferred set has another node. `empty`: no set can serve it.
    """

    def __init__(self, name: str, ids: tuple[int, ...], holders: int, fits: Callable[[int], bool], width: int) -> None:
        self.name = name
        self.ids = ids
        self.universe = mask_of(ids)
        self.holders = holders
        self.fits = fits
        self.width = width
        self.own_preference: Callable[[int], bool] | None = None
        self._free: dict[int, int] | None = None
        self._need = 0

    def preferring(self, own: Callable[[int], bool] | None) -> "Hints":
        """With sets that are preferred whatever their size."""
        self.own_preference = own
        return self

    def holding(self, free: dict[int, int] | None, need: int) -> "Hints":
        """With what each node has free, where a set has as much as its nodes together."""
        self._free, self._need = free, need
        return self

    def prefers(self, mask: int) -> bool:
        """Whether a set that fits is preferred."""
        return mask.bit_count() == self.width or (self.own_preference is not None and self.own_preference(mask))

    @property
    def needed(self) -> int:
        """The nodes that can make a difference to `fits`."""
        return self.holders if self._free is None else mask_of(number for number, count in self._free.items() if count)

    def fewest_now(self) -> int:
        """How many nodes the narrowest set has that fits; raises ``TooManyError``."""
        if self._free is not None:
            return fewest(self._free, self._need, len(self.ids))
        return min(mask.bit_count() for mask in self.all())

    def may_fit(self, ids: tuple[int, ...], size: int) -> bool:
        """Whether `size` of these nodes can hold enough at all: False proves that none fits."""
        if self._free is None:
            return True
        return sum(sorted((self._free.get(number, 0) for number in ids), reverse=True)[:size]) >= self._need

    def all(self) -> list[int]:
        """Every set that fits; raises ``TooManyError``."""
        if len(self.ids) > FEW:
            raise TooManyError
        return [mask for mask in subsets(self.ids) if self.fits(mask)]


def _never(_: int) -> bool:
    return False


class NoHints(Hints):
    """A resource that no set of nodes can serve."""

    def __init__(self, name: str) -> None:
        super().__init__(name, (), 0, _never, 0)


def fewest(amounts: dict[int, int], need: int, most: int) -> int:
    """How many nodes hold `need` together at the least; `most` where they never do."""
    total = 0
    for number, amount in enumerate(sorted(amounts.values(), reverse=True), 1):
        total += amount
        if total >= need:
            return min(number, most)
    return most


def choose(ids: tuple[int, ...], size: int) -> Iterator[int]:
    """The sets of `size` nodes, the lowest number first; raises ``TooManyError`` after `BUDGET`."""
    for seen, chosen in enumerate(_colexicographic(ids, size)):
        if seen >= BUDGET:
            raise TooManyError
        yield mask_of(chosen)


def _colexicographic(ids: tuple[int, ...], size: int) -> Iterator[tuple[int, ...]]:
    """Combinations in the order of the number that their bits make: the highest member rises last."""
    if size > len(ids) or size < 1:
        return
    places = list(range(size))
    while True:
        yield tuple(ids[place] for place in places)
        for at in range(size):
            limit = places[at + 1] if at + 1 < size else len(ids)
            if places[at] + 1 < limit:
                places[at] += 1
                places[:at] = range(at)
                break
        else:
            return
