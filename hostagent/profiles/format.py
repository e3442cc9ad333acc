"""What of one layer of a profile this version knows: the schema it says, keys that were renamed, keys that are newer than ours.

Pure: a mistake is raised, a warning is returned.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.typed import ShapeError, build

#: The profile format. A key that is added makes the next minor; what an older agent would read wrongly, the next major.
SCHEMA_VERSION, SCHEMA_MINOR = 1, 0
OURS = f"{SCHEMA_VERSION}.{SCHEMA_MINOR}"
#: What ``schema_version`` may say as text: our major, any minor.
VERSION_PATTERN = rf"{SCHEMA_VERSION}\.(0|[1-9][0-9]{{0,8}})"
_POLICY_KEYS = ("off", "severity", "params", "except")


class Rename(NamedTuple):
    """A key that has another name now. Paths are dotted, from the top: ``gpus.mig``, ``checks.gpu.temperature.params.margin``."""

    old: str
    new: str
    until: str  # the first version of hostagent that reads the new name alone


#: Oldest first. A test takes out what is overdue.
RENAMES: tuple[Rename, ...] = ()


class Known(NamedTuple):
    """A layer without what this version does not know, under today's names; its ``schema_version`` is our major."""

    data: dict[str, Any]
    is_newer: bool  # it says a newer minor than ours
    warnings: tuple[str, ...]  # a sentence a key, without the layer's name


def known(kind: type, data: Mapping[str, Any], where: str, renames: tuple[Rename, ...]) -> Known:
    """The part of a layer that `kind` has fields for. Raises ``ShapeError``, whose message begins with `where`."""
    is_newer = _minor(data.get("schema_version", SCHEMA_VERSION), where) > SCHEMA_MINOR
    today, renamed = _renamed({**data, "schema_version": SCHEMA_VERSION} if "schema_version" in data else dict(data), where, renames)
    dropped: set[tuple[int, str]] = set()
    ignored: list[str] = []

    def ignore(parent: Mapping[str, Any], key: str, place: str) -> None:
        dropped.add((id(parent), key))
        path = f"{place}.{key}"[len(where) + 1 :]
        ignored.append(f"{path} is ignored: profile schema {OURS}, which this hostagent reads, does not have it")

    try:
        build(kind, today, where, missing=lambda _: None, unknown=ignore if is_newer else None)
    except ShapeError as error:  # the message has a new name where the file has the old one
        raise ShapeError(f"{error} ({'; '.join(renamed)})" if renamed else str(error)) from error
    return Known(_without(today, dropped), is_newer, (*renamed, *ignored))


def _minor(version: object, where: str) -> int:
    """The minor of a ``schema_version``: 0 of the whole number 1, 3 of the text "1.3"."""
    if version == SCHEMA_VERSION and type(version) is int:
        return 0
    found = re.fullmatch(VERSION_PATTERN, version) if isinstance(version, str) else None
    if found:
        return int(found[1])
    hint = " in quotes: the number 1.10 is 1.1" if isinstance(version, float) else ""
    raise ShapeError(f'{where}: schema_version is {version!r:.60}, wanted {SCHEMA_VERSION} or a text such as "{OURS}"{hint}')


def _renamed(data: dict[str, Any], where: str, renames: tuple[Rename, ...]) -> tuple[dict[str, Any], list[str]]:
    warnings = []
    for one in renames:
        old, new = keys(one.old), keys(one.new)
        if not _holds(data, old):
            continue
        if _holds(data, new):
            raise ShapeError(f"{where}: found both {one.old} and {one.new}, which is its name today: wanted {one.new} alone")
        data = _moved(data, old, new)
        warnings.append(f"{one.old} is called {one.new} today: the old name works until hostagent {one.until}")
    return data, warnings


def keys(path: str) -> tuple[str, ...]:
    """The keys of a dotted path. A check's id has dots itself: it ends before the first word of its policy.

    >>> keys("gpus.mig"), keys("checks.gpu.temperature.params.margin")
    (('gpus', 'mig'), ('checks', 'gpu.temperature', 'params', 'margin'))
    """
    first, *rest = path.split(".")
    if first != "checks" or not rest:
        return (first, *rest)
    end = next((number for number, word in enumerate(rest) if word in _POLICY_KEYS), len(rest))
    return (first, ".".join(rest[:end]), *rest[end:])


def _holds(data: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True


def _moved(data: dict[str, Any], old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, Any]:
    """A copy in which the value at `old` stands at `new`. Where a key of `new` holds no mapping it stays as it is, to be refused."""
    from copy import deepcopy

    copy = deepcopy(data)
    source = target = copy
    for key in old[:-1]:
        source = source[key]
    value = source.pop(old[-1])
    for key in new[:-1]:
        target = target.setdefault(key, {})
        if not isinstance(target, dict):
            return copy
    target[new[-1]] = value
    return copy


def _without(data: dict[str, Any], dropped: set[tuple[int, str]]) -> dict[str, Any]:
    if not dropped:
        return data
    return {
        key: _without(value, dropped) if isinstance(value, dict) else value for key, value in data.items() if (id(data), key) not in dropped
    }
