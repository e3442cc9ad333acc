"""Version orders, and parsers for versions in a profile: constraints, and the version to install.

The orders are those of dpkg and rpm; tests compare them with both.
"""

import re
from itertools import zip_longest
from typing import Any, NamedTuple

from hostagent.core.unread import Unread

_EPOCH = re.compile(r"[0-9]+:")
_PRE_RELEASE = r"[~.+-]?(rc|beta|alpha|dev)"
_UPSTREAM = re.compile(rf"[0-9]+(?:\.[0-9]+)*(?:{_PRE_RELEASE}(?:[.0-9]*[0-9])?)?", re.IGNORECASE)
_WISH = re.compile(r"(?P<prefix>[0-9]+(?:\.[0-9]+)*(?:[~.+-]?rc\.?[0-9]+)?)(?P<star>\.\*)?", re.IGNORECASE)
#: A version of fewer fields is a branch: 580, 580.95, 1.19.
_FIELDS = 3
_TRAILING_ZEROS = re.compile(r"(?:\.0+)+(?=~|$)")


class ConstraintError(ValueError):
    """A constraint that cannot be parsed; the message has what was found and wanted."""


class WishError(ValueError):
    """A version to install that cannot be parsed; the message has what was found and wanted."""


class Wish(NamedTuple):
    """The version to install, as a profile names it: each version that begins with `prefix`; "" names none."""

    text: str  # as written
    prefix: str
    is_open: bool  # a branch: the repositories decide the version

    @property
    def branch(self) -> str:
        """The first field."""
        return branch(self.prefix)

    @property
    def constraint(self) -> str:
        """The constraint that exactly the versions of the wish meet.

        >>> wish("580").constraint, wish("580.95.*").constraint, wish("1.19.0").constraint
        ('580.*', '580.95.*', '==1.19.0')
        """
        return "" if not self.prefix else f"{self.prefix}.*" if self.is_open else f"=={self.prefix}"

    def names(self, version: str) -> bool:
        """Whether an upstream version is one that the wish names.

        >>> wish("580.*").names("580.142"), wish("580").names("5800.1"), wish("580.95").names("580.95.05"), wish("").names("580.142")
        (True, False, True, False)
        """
        if not self.prefix:
            return False
        return compare_upstream(version, self.prefix) == 0 or version.startswith(f"{self.prefix}.")

    def allowed_by(self, constraint: str) -> bool:
        """Whether some version that the wish names can meet a constraint.

        >>> wish("580.*").allowed_by(">=580.126.09"), wish("58").allowed_by("580.*"), wish("1.19.0").allowed_by("<1.19")
        (True, False, False)
        """
        parts = parse_constraints(constraint)
        return all(_meets(self.prefix, one) or (one.operator != "<" and one.version.startswith(f"{self.prefix}.")) for one in parts)


def wish(text: str) -> Wish:
    """Raises ``WishError``.

    >>> wish("580.*")[1:] == wish("580")[1:], wish("580.178.04").is_open
    (True, False)
    """
    if not text:
        return Wish(text, "", True)
    match = _WISH.fullmatch(text.strip())
    if not match:
        raise WishError(f'found {text!r:.60}, wanted a branch like "580.*" or "580", or a version like "580.126.20"')
    prefix = _rc(match["prefix"])
    return Wish(text, prefix, bool(match["star"]) or ("~" not in prefix and prefix.count(".") < _FIELDS - 1))


class Constraint(NamedTuple):
    """``operator`` is ``==``, ``>=``, ``<`` or ``.*`` (any version of the branch)."""

    operator: str
    version: str


def parse_constraints(text: str) -> tuple[Constraint, ...]:
    """All of them have to hold; () accepts any version, and a plain version only that one.

    >>> parse_constraints("580.*"), parse_constraints(">=1.19.0,<1.20")[1], parse_constraints("")
    ((Constraint(operator='.*', version='580'),), Constraint(operator='<', version='1.20'), ())
    >>> parse_constraints("13.0")
    (Constraint(operator='==', version='13.0'),)
    """
    return tuple(_constraint(part.strip(), text) for part in text.split(",")) if text else ()


def _constraint(part: str, text: str) -> Constraint:
    match = re.fullmatch(r"(==|>=|<)?\s*([0-9]+(?:\.[0-9]+)*(?:~rc\.?[0-9]+)?)(\.\*)?", part)
    if not match or (match[1] and match[3]):
        raise ConstraintError(f'found the constraint {text!r:.60}, wanted one like "580.*", ">=580", ">=1.19.0,<1.20" or "1.19.0"')
    if match[1] or match[3]:
        return Constraint(match[1] or ".*", match[2])
    if "." not in match[2]:  # no version has one field: such a host would never be ready
        raise ConstraintError(f'found {part!r}, which is a branch and no version: write "{part}.*" for all of it, or ">={part}"')
    return Constraint("==", match[2])


def satisfies(version: str, constraint: str) -> bool:
    """Whether an upstream version (see `upstream`) meets a constraint. Missing fields are zero: 1.19 is 1.19.0.

    >>> satisfies("580.142", "580.*"), satisfies("1.19.0~rc.1", ">=1.19.0"), satisfies("5800.1", "580.*")
    (True, False, False)
    >>> satisfies("1.19.1", ">=1.19.0,<1.20"), satisfies("1.20.0~rc.1", ">=1.19.0,<1.20")
    (True, False)
    """
    return all(_meets(version, one) for one in parse_constraints(constraint))


def _meets(version: str, constraint: Constraint) -> bool:
    operator, wanted = constraint
    if operator == ".*":
        return version == wanted or version.startswith(wanted + ".")
    if operator == "<":  # before the release candidates, too
        return compare_upstream(version, f"{wanted}~") < 0
    order = compare_upstream(version, wanted)
    return order == 0 if operator == "==" else order >= 0


def admits(prefix: str, constraint: str) -> bool:
    """Whether some version that begins with `prefix` (a branch, or the part before a glob's star) can meet a constraint.

    >>> admits("580", ">=580.126.09"), admits("570.211.01", "580.*"), admits("", "580.*")
    (True, False, True)
    """
    parts = parse_constraints(constraint)
    return all(_meets(prefix, one) or (one.operator != "<" and one.version.startswith(prefix)) for one in parts)


def upstream(version: str) -> "str | Unread":
    """NVIDIA's version in what a package manager or a tool prints: any number of fields, rc marks kept with a tilde.

    >>> upstream("3:580.159.03-1.el9"), upstream("580.142-0ubuntu0.24.04.1"), upstream("1.19.0-rc.1-1")
    ('580.159.03', '580.142', '1.19.0~rc.1')
    >>> upstream("[N/A]")
    Unread('error', "no version in '[N/A]'")
    """
    match = _UPSTREAM.match(_EPOCH.sub("", version, count=1) if _EPOCH.match(version) else version)
    return _rc(match[0]) if match else Unread("error", f"no version in {version[:80]!r}")


def compare_upstream(left: str, right: str) -> int:
    """The order of two upstream versions: -1, 0, 1. A pre-release sorts before its release.

    >>> compare_upstream("1.19", "1.19.0"), compare_upstream("1.19.0-rc.1", "1.19.0"), compare_upstream("580.95.05", "580.142")
    (0, -1, -1)
    """
    return _compare_deb_part(*(_TRAILING_ZEROS.sub("", _rc(one)) for one in (left, right)))


def _rc(version: str) -> str:
    return re.sub(_PRE_RELEASE, r"~\1", version, count=1, flags=re.IGNORECASE)


def branch(version: str) -> str:
    """The driver branch: the first field.

    >>> branch("580.159.03")
    '580'
    """
    return version.partition(".")[0]


def compare_deb(left: str, right: str) -> int:
    """Debian's order of full versions: -1, 0, 1 (deb-version(7)).

    >>> compare_deb("1.19.0~rc.1-1", "1.19.0-1"), compare_deb("1:1.0", "2.0"), compare_deb("580.95.05-0ubuntu1", "580.142-1")
    (-1, 1, -1)
    """
    pairs = zip(_deb_parts(left), _deb_parts(right), strict=True)
    return next((order for a, b in pairs if (order := _compare_deb_part(a, b))), 0)


def _deb_parts(version: str) -> tuple[str, str, str]:
    epoch, colon, rest = version.partition(":")
    if not colon:
        epoch, rest = "0", version
    body, dash, revision = rest.rpartition("-")
    return (epoch, body, revision) if dash else (epoch, rest, "0")


def _compare_deb_part(left: str, right: str) -> int:
    """Runs of other characters and runs of digits in turn; a missing run is empty, a missing number zero."""
    runs = (re.findall(r"([^0-9]*)([0-9]*)", text) for text in (left, right))
    for (a, number_a), (b, number_b) in zip_longest(*runs, fillvalue=("", "")):
        key_a, key_b = ([*map(_deb_rank, text), 0] for text in (a, b))
        if order := _order(key_a, key_b) or _order(_number(number_a), _number(number_b)):
            return order
    return 0


def _order(left: Any, right: Any) -> int:
    return int(left > right) - int(left < right)


def _number(digits: str) -> tuple[int, str]:
    """A key that orders numbers of any length; `int` refuses more than 4300 digits."""
    digits = digits.lstrip("0")
    return len(digits), digits


def _deb_rank(char: str) -> int:
    """A tilde sorts before the end of the part (0), letters after it, everything else after letters."""
    return -1 if char == "~" else ord(char) if char.isascii() and char.isalpha() else ord(char) + 256


def compare_rpm(left: str, right: str) -> int:
    """The order of rpm of one version or release string: -1, 0, 1 (rpmvercmp).

    >>> compare_rpm("1.19.0~rc.1", "1.19.0"), compare_rpm("1.0^git1", "1.0"), compare_rpm("580.95.05", "580.142")
    (-1, 1, -1)
    """
    runs = (re.findall(r"[0-9]+|[a-zA-Z]+|[~^]", text) for text in (left, right))
    for a, b in zip_longest(*runs, fillvalue=""):
        if order := _order(_rpm_rank(a), _rpm_rank(b)) or _order(*(_number(one) if a[:1].isdigit() else (0, one) for one in (a, b))):
            return order
    return 0


def _rpm_rank(run: str) -> int:
    """A tilde sorts before the end, a caret after it, then letters, then numbers."""
    first = run[:1]
    return 0 if first == "~" else 1 if not first else 2 if first == "^" else 4 if first.isdigit() else 3
