"""Questions that older recordings do not have.

A recording names the set of questions that its recorder knew. Of a question that came later it cannot say anything: a check that needs it
is unknown, and that counts in no verdict. A question of its own set that is missing counts.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

#: By the set that first has them: patterns of whole questions, as on a tape.
ADDED: Mapping[int, tuple[str, ...]] = {
    2: (r"kernel_words",),
}
#: The set that this program asks.
CURRENT = max(ADDED)


def is_newer(question: str, known: int) -> bool:
    """Whether a recording of the set `known` was made before this question was asked.

    >>> is_newer("read /proc/version", 1)
    False
    """
    return known < CURRENT and bool(_pattern(known).fullmatch(question))


@lru_cache(maxsize=8)
def _pattern(known: int) -> "re.Pattern[str]":
    later = [f"(?:{one})" for added, patterns in ADDED.items() if added > known for one in patterns]
    return re.compile("|".join(later) or r"(?!)")
