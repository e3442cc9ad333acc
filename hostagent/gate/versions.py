"""Compares versions field by field as numbers, and with the demand of a request."""

import functools
import re
from typing import NamedTuple

_LONGEST = 100
_VERSION = re.compile(r"([0-9]+(?:\.[0-9]+)*)([~+-][0-9A-Za-z.~+:_-]+)?")
_PRE_RELEASE = re.compile(r"~|-[A-Za-z]|[+-](?:rc|alpha|beta|dev|pre)", re.IGNORECASE)
_RUNS = re.compile(r"[0-9]+|[a-z]+")
_DEMAND = re.compile(r"(>=|==)? *(.*)")


class Version(NamedTuple):
    """Its order is that of its fields: a pre-release comes before its release."""

    numbers: tuple[int, ...]  # without zeros at the end
    is_release: bool
    pre: tuple[tuple[int, int, str], ...]  # numbers and words of a pre-release, in turn


class Demand(NamedTuple):
    """What a version has to be: ``>=`` or ``==``, and as it is written."""

    operator: str
    version: Version
    text: str

    def allows(self, version: Version) -> bool:
        return version == self.version if self.operator == "==" else version >= self.version


@functools.lru_cache(maxsize=4096)
def parse_version(text: str) -> Version | None:
    """None for what is no version.

    >>> parse_version("1.19.0~rc.2") < parse_version("1.19.0-rc.10") < parse_version("1.19") == parse_version("1.19.0-1")
    True
    >>> parse_version("[N/A]") is None, parse_version("580.95.05") < parse_version("580.142")
    (True, True)
    """
    match = _VERSION.fullmatch(text) if len(text) <= _LONGEST else None
    if not match:
        return None
    numbers = [int(number) for number in match[1].split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    suffix = match[2] or ""
    if not _PRE_RELEASE.match(suffix):
        return Version(tuple(numbers), True, ())
    runs = _RUNS.findall(suffix.lower())
    return Version(tuple(numbers), False, tuple((0, int(run), "") if run[0].isdigit() else (1, 0, run) for run in runs))


def parse_demand(text: str) -> Demand | None:
    """``>=V``, ``==V``, or V for at least V; None for what is none of these.

    >>> parse_demand("580").allows(parse_version("580.142")), parse_demand("==13.0").allows(parse_version("13.0.1"))
    (True, False)
    """
    match = _DEMAND.fullmatch(text.strip()) if len(text) <= 2 * _LONGEST else None
    version = parse_version(match[2]) if match else None
    if not match or version is None:
        return None
    operator = match[1] or ">="
    return Demand(operator, version, f"{operator}{match[2]}")
