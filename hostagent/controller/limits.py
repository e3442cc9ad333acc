"""How many nodes may be closed: the controller stops before it closes a cluster."""

import math
import re
from typing import NamedTuple

#: So many may always be closed: a small cluster has no fraction of a node.
_LEAST = 2
_TEXT = re.compile(r"[0-9]{1,6}(\.[0-9]{1,3})?%|[0-9]{1,7}")


class Limit(NamedTuple):
    """A number of nodes, or a percentage of those that have a verdict."""

    amount: float
    is_percentage: bool

    def of(self, nodes: int) -> int:
        """Nodes that may be closed of so many.

        >>> [Limit(20.0, True).of(count) for count in (0, 3, 11, 100)], Limit(5.0, False).of(3)
        ([2, 2, 3, 20], 5)
        """
        exact = self.amount * nodes / 100 if self.is_percentage else self.amount
        return max(_LEAST, math.ceil(round(exact, 6)))


def parse_limit(text: str) -> Limit:
    """Raises ``ValueError``.

    >>> parse_limit("20%"), parse_limit("5")
    (Limit(amount=20.0, is_percentage=True), Limit(amount=5.0, is_percentage=False))
    """
    is_percentage = text.endswith("%")
    if not _TEXT.fullmatch(text) or (is_percentage and float(text[:-1]) > 100):
        raise ValueError(f"found {text!r:.40}, wanted a number of nodes or a percentage, such as 10 or 20%")
    return Limit(float(text.removesuffix("%")), is_percentage)
