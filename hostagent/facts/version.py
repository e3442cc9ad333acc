"""Version orders and constraints. The orders are those of dpkg and rpm; tests hold them against both."""

import re
from typing import NamedTuple

from hostagent.facts.unread import Unread

_UPSTREAM = re.compile(r"\d+(?:\.\d+)*(?:[~.+-]?(?:rc|beta|alpha|dev)[.\d]*)?", re.IGNORECASE)


class ConstraintError(ValueError):
    """A constraint that cannot be read; the message says what was found and wanted."""


class Constraint(NamedTuple):
    """``operator`` is ``==``, ``>=``, ``.*`` (any version of the branch) or ``""`` (anything)."""

    operator: str
    version: str


def parse_constraint(text: str) -> Constraint:
    """The two parts of a constraint.

    >>> parse_constraint("580.*"), parse_constraint(">=1.19.0")
    (Constraint(operator='.*', version='580'), Constraint(operator='>=', version='1.19.0'))
    """
    if not text:
        return Constraint("", "")
    match = re.fullmatch(r"(==|>=)?\s*(\d+(?:\.\d+)*(?:~rc\.?\d+)?)(\.\*)?", text)
    if not match or bool(match[1]) == bool(match[3]):
        raise ConstraintError(f'found the constraint {text!r}, wanted one like "580.*", ">=580" or "==1.19.0"')
    return Constraint(match[1] or ".*", match[2])


def satisfies(version: str, constraint: str) -> bool:
    """Whether an upstream version (see `upstream`) meets a constraint.

    >>> satisfies("580.142", "580.*"), satisfies("1.19.0~rc.1", ">=1.19.0"), satisfies("5800.1", "580.*")
    (True, False, False)
    """
    operator, wanted = parse_constraint(constraint)
    if operator == ".*":
        return version == wanted or version.startswith(wanted + ".")
    order = compare_deb(_rc(version), _rc(wanted))
    return {"": True, "==": order == 0, ">=": order >= 0}[operator]


def upstream(version: str) -> "str | Unread":
    """NVIDIA's version in what a package manager or a tool prints: two to four fields, rc marks kept with a tilde.

    >>> upstream("3:580.159.03-1.el9"), upstream("580.142-0ubuntu0.24.04.1"), upstream("1.19.0-rc.1-1")
    ('580.159.03', '580.142', '1.19.0~rc.1')
    >>> upstream("[N/A]")
    Unread('error', "no version in '[N/A]'")
    """
    match = _UPSTREAM.match(version.partition(":")[2] if re.match(r"\d+:", version) else version)
    return _rc(match[0]) if match else Unread("error", f"no version in {version!r}")


def _rc(version: str) -> str:
    return re.sub(r"[~.+-]?(rc|beta|alpha|dev)", r"~\1", version, count=1, flags=re.IGNORECASE)


def branch(version: str) -> str:
    """The driver branch: the first field.

    >>> branch("580.159.03")
    '580'
    """
    return version.partition(".")[0]


def compare_deb(left: str, right: str) -> int:
    """Debian's order of full versions: -1, 0, 1 (deb-version(7))."""
    pairs = zip(_deb_parts(left), _deb_parts(right), strict=True)
    return next((order for a, b in pairs if (order := _compare_deb_part(a, b))), 0)


def _deb_parts(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    body, dash, revision = rest.rpartition("-")
    return (epoch, body, revision) if dash else (epoch, rest, "0")


def _compare_deb_part(left: str, right: str) -> int:
    while left or right:
        a, left = _take(left, digits=False)
        b, right = _take(right, digits=False)
        ranks = [_deb_rank(a, index) - _deb_rank(b, index) for index in range(max(len(a), len(b)))]
        if order := next((rank for rank in ranks if rank), 0):
            return 1 if order > 0 else -1
        a, left = _take(left, digits=True)
        b, right = _take(right, digits=True)
        if (number := int(a or 0) - int(b or 0)) != 0:
            return 1 if number > 0 else -1
    return 0


def _take(text: str, *, digits: bool) -> tuple[str, str]:
    end = next((i for i, char in enumerate(text) if ("0" <= char <= "9") != digits), len(text))
    return text[:end], text[end:]


def _deb_rank(text: str, index: int) -> int:
    if index >= len(text):
        return 0
    char = text[index]
    return -1 if char == "~" else ord(char) if char.isalpha() else ord(char) + 256


def compare_rpm(left: str, right: str) -> int:
    """The order rpm has of one version or release string: -1, 0, 1 (rpmvercmp)."""
    if left == right:
        return 0
    while left or right:
        left, right = (re.sub(r"^[^a-zA-Z0-9~^]+", "", text) for text in (left, right))
        for mark, at_end in (("~", -1), ("^", 1)):
            if left.startswith(mark) or right.startswith(mark):
                order = _compare_rpm_mark(left, right, mark, at_end)
                if order:
                    return order
                left, right = left[1:], right[1:]
                break
        else:
            if not left or not right:
                break
            order, left, right = _compare_rpm_segment(left, right)
            if order:
                return order
    return (1 if left else 0) - (1 if right else 0)


def _compare_rpm_mark(left: str, right: str, mark: str, at_end: int) -> int:
    """`~` sorts before the end of the version, `^` after it but before any other segment."""
    if left.startswith(mark) and right.startswith(mark):
        return 0
    if left.startswith(mark):
        return at_end if mark == "~" or not right else -1
    return -at_end if mark == "~" or not left else 1


def _compare_rpm_segment(left: str, right: str) -> tuple[int, str, str]:
    numeric = left[0].isdigit()
    pattern = r"[0-9]*" if numeric else r"[a-zA-Z]*"
    a, b = (re.match(pattern, text)[0] for text in (left, right))  # type: ignore[index]
    if not b:
        return (1 if numeric else -1), left, right
    key_a, key_b = (int(a), int(b)) if numeric else (a, b)
    order = (key_a > key_b) - (key_a < key_b)  # type: ignore[operator]
    return order, left[len(a) :], right[len(b) :]
