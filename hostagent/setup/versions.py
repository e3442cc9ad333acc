"""Comparison of versions for the lines: no version satisfies nothing, and a release candidate is older than its release."""

from collections.abc import Iterable
from functools import cmp_to_key

from hostagent.core.unread import Unread
from hostagent.facts.version import compare_upstream, upstream

_BY_VERSION = cmp_to_key(compare_upstream)


def read(text: "str | Unread") -> str:
    """NVIDIA's version in the text of a package or tool; "" where it has none.

    >>> read("1:1.19.0~rc.1-1"), read("[N/A]"), read("")
    ('1.19.0~rc.1', '', '')
    """
    found = text if isinstance(text, Unread) else upstream(text.strip())
    return "" if isinstance(found, Unread) else found


def lowest(versions: Iterable[str]) -> str:
    """The oldest of them; "" for none, and where one of them is "".

    >>> lowest(["580.142", "580.95.05"]), lowest(["580.142", ""])
    ('580.95.05', '')
    """
    several = tuple(versions)
    return min(several, key=_BY_VERSION) if several and all(several) else ""


def at_least(version: str, minimum: str) -> bool:
    """Whether it is at least that version; missing fields are zero.

    >>> at_least("1.19", "1.19.0"), at_least("1.19.0~rc.1", "1.19.0"), at_least("", "0")
    (True, False, False)
    """
    return bool(version) and compare_upstream(version, minimum) >= 0


def same(one: str, other: str) -> bool:
    return bool(one) and bool(other) and compare_upstream(one, other) == 0


def of_branch(version: str, branch: str) -> bool:
    """Whether it is a version of that branch, and not only the branch.

    >>> of_branch("580.142", "580"), of_branch("5800.1", "580"), of_branch("580.65~rc1", "580.65")
    (True, False, False)
    """
    return bool(branch) and version.startswith(f"{branch}.")


def release(version: str) -> str:
    """The first two fields, as nvcc prints them.

    >>> release("13.0.2"), release("13"), release("")
    ('13.0', '13', '')
    """
    return ".".join(version.split(".")[:2])
