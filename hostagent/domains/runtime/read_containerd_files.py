"""containerd's main file and its imports, in the merge order of that version."""

# Measured (84 written and 60 generated configurations, `config dump` and the started daemon of each version): 1.7 looks only at
# the last `version` line over all files, 2.1 uses the highest, 1.6 ignores it; 2.1 migrates no version 1 or unversioned file,
# so nvidia entries in it are ignored, as are v2 names in a v3 file and a v2 drop-in into a v3 file. 2.x silently stops at an
# import of a missing file (2.1.4, 2.3.7). 2.3.0 to 2.3.4 reject a drop-in with a newer version than the main file; 2.3.5 merges
# by file again.

import posixpath
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.core.parsing import Allowance, stops_at_unread
from hostagent.core.toml import TomlError, parse_toml
from hostagent.core.unread import Unread
from hostagent.domains.runtime.retention import TOML
from hostagent.domains.runtime.tables.versions import ContainerdRules
from hostagent.host.source import Source

_MAX_BYTES, _MOST_BYTES = 256 * 1024, 1024 * 1024
_MAX_FILES = 200
_MAX_WILD_FOLDERS = 2


class ConfigError(ValueError):
    """containerd rejects this configuration; the message has the reason."""


class File(NamedTuple):
    """One file, parsed."""

    path: str
    data: Mapping[str, Any]
    mtime: "float | Unread"


@stops_at_unread
def load_files(source: Source, main: str, rules: ContainerdRules) -> "tuple[File, ...] | Unread":
    """The files, main file first; unread if one cannot be read. Raises ``ConfigError`` if containerd rejects one.

    Without a main file there are none, and the built-in configuration is in force.
    """
    pending, files = [main], []
    seen = set()
    count, size = Allowance(f"files that {main} imports", _MAX_FILES), Allowance(f"bytes of {main} and what it imports", _MOST_BYTES)
    while pending:
        path = pending.pop(0)
        if path in seen:
            continue
        seen.add(path)
        count.take(1)
        file = _load(source, path, rules, size)
        if isinstance(file, Unread):
            if file.why != "absent":
                return file
            if path != main and not rules.missing_import_ok:
                raise ConfigError(f"{path}: imported, and not there")
            break  # later imports are silently not read
        files.append(file)
        for pattern in strings(file, "imports"):
            found = list(_imported(source, path, pattern, rules))
            unread = next((one for one in found if isinstance(one, Unread)), None)
            if unread is not None:
                return unread
            pending += [one for one in found if not isinstance(one, Unread)]
    return tuple(files)


def strings(file: File, key: str) -> list[str]:
    """A list of strings at the top level of a file."""
    value = file.data.get(key, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ConfigError(f"{file.path}: {key} is not a list of strings")
    return value


def _load(source: Source, path: str, rules: ContainerdRules, size: Allowance) -> "File | Unread":
    stat = source.stat(path)
    if isinstance(stat, Unread):
        return stat
    if stat.kind == "dir":
        raise ConfigError(f"{path}: is a directory")
    data = source.read(path, _MAX_BYTES, keep=TOML)
    if isinstance(data, Unread):
        return data
    size.take(len(data))
    try:
        return File(path, parse_toml(data, strict=rules.strict_text), stat.mtime)
    except TomlError as error:
        raise ConfigError(f"{path}: {error}") from error


def _imported(source: Source, importer: str, pattern: str, rules: ContainerdRules) -> "Iterator[str | Unread]":
    folder = posixpath.dirname(importer)
    if "*" not in pattern:
        yield _clean(posixpath.join(folder, pattern))
        return
    pattern = _clean(posixpath.join(folder if rules.globs_from_file else "/", pattern))
    parts = pattern.split("/")
    for part in parts:
        match(part, "")
    if sum("*" in part for part in parts[:-1]) > _MAX_WILD_FOLDERS:
        yield Unread("error", f"{importer}: the import {pattern} would search much of the disk")
        return
    yield from _glob(source, "", parts[1:])


def _clean(path: str) -> str:
    return "/" + posixpath.normpath(path).lstrip("/")


def _glob(source: Source, folder: str, parts: list[str]) -> "Iterator[str | Unread]":
    """Matching paths, sorted within each directory; missing directories match nothing."""
    part, rest = parts[0], parts[1:]
    if not any(char in part for char in "*?[\\"):
        path = f"{folder}/{part}"
        if rest:
            yield from _glob(source, path, rest)
        else:
            there = source.exists(path)
            if isinstance(there, Unread) or there:
                yield there if isinstance(there, Unread) else path
        return
    names = source.listdir(folder or "/")
    if isinstance(names, Unread):
        if names.why != "absent":
            yield names
        return
    for name in names:
        if match(part, name):
            if rest:
                yield from _glob(source, f"{folder}/{name}", rest)
            else:
                yield f"{folder}/{name}"


def match(pattern: str, name: str) -> bool:
    """Go's ``path.Match`` on one path component; ``ConfigError`` for a malformed pattern.

    >>> match("*.toml", "99-nvidia.toml"), match("[0-9]?.toml", "99.toml"), match("[^a-z]*", "a"), match("*.toml", ".x.toml")
    (True, True, False, True)
    """
    tokens = list(_tokens(pattern))
    place = at = 0
    star, resume = -1, 0
    while at < len(name):
        if place < len(tokens) and tokens[place] is None:
            star, resume = place, at
            place += 1
        elif place < len(tokens) and _accepts(tokens[place], name[at]):
            place, at = place + 1, at + 1
        elif star >= 0:
            resume += 1
            place, at = star + 1, resume
        else:
            return False
    return all(token is None for token in tokens[place:])


#: None is ``*``; otherwise (negated, ranges).
_Token = tuple[bool, tuple[tuple[str, str], ...]] | None


def _accepts(token: _Token, char: str) -> bool:
    return token is not None and any(low <= char <= high for low, high in token[1]) != token[0]


def _tokens(pattern: str) -> Iterator[_Token]:
    chars = iter(pattern)
    for char in chars:
        if char == "*":
            yield None
        elif char == "?":
            yield (False, (("\0", "\U0010ffff"),))
        elif char == "[":
            yield _class(chars, pattern)
        else:
            literal = _escaped(char, chars, pattern)
            yield (False, ((literal, literal),))


def _class(chars: Iterator[str], pattern: str) -> _Token:
    negated = False
    ranges: list[tuple[str, str]] = []
    char = next(chars, "")
    if char == "^":
        negated, char = True, next(chars, "")
    while not (char == "]" and ranges):
        if char in ("", "]", "-"):
            raise ConfigError(f"syntax error in pattern {pattern!r}")
        low = high = _escaped(char, chars, pattern)
        char = next(chars, "")
        if char == "-":
            end = next(chars, "")
            if end in ("", "]", "-"):
                raise ConfigError(f"syntax error in pattern {pattern!r}")
            high = _escaped(end, chars, pattern)
            char = next(chars, "")
        ranges.append((low, high))
    return negated, tuple(ranges)


def _escaped(char: str, chars: Iterator[str], pattern: str) -> str:
    if char != "\\":
        return char
    literal = next(chars, "")
    if not literal:
        raise ConfigError(f"syntax error in pattern {pattern!r}")
    return literal
