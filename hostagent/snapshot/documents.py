"""Filters of TOML, JSON and YAML: the values at named paths.

A name is a path of keys, ``a/*/b``; lists of tables are passed through, ``*`` is any key. ``a/b`` keeps the text there, ``a/b#`` the number
or truth value, ``a/b[]`` the texts of the list, ``a/b**`` all that is there; ``a/b~`` the shape alone: tables, types, and which texts and
numbers are equal. ``a/b=x`` keeps texts that begin with ``x``;
``a/b=`` of texts the part before their ``=``; ``a/*!`` the shape
under another name. Of what is something else than its name says the
shape stays. A text that is no document is scrambled: what is wrong with it, and where, stays.
"""

import datetime as dt
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Mask = Callable[[str], str]

_KEY = re.compile(r"[A-Za-z_][\w-]{0,63}")
#: YAML's aliases make a small file a large document.
_MOST_NODES = 200_000
#: As Go writes one.
DURATION = re.compile(r"-?(?:[0-9]{1,18}(?:\.[0-9]{1,18})?(?:ns|us|\u00b5s|ms|s|m|h)){1,6}")
#: What a text may keep of itself, and an escaped character, which is one.
_WORD = re.compile(rb"(\\(?:u[0-9a-fA-F]{4}|[\s\S]))|[A-Za-z0-9_]+")
_PLAIN = frozenset(b"true false null inf nan io containerd grpc cri v1 images runtime".split())


class _Node:
    """What is kept below one path of keys."""

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.kept, self.is_shape = "", False
        self.is_whole = False
        self.starts: list[str] = []

    def at(self, path: str) -> "_Node":
        node = self
        for key in path.split("/"):
            node = node.below.setdefault(key, _Node())
        return node


def _tree(names: tuple[str, ...]) -> _Node:
    root = _Node()
    for name in names:
        path, equals, start = name.partition("=")
        kind = next((one for one in ("**", "~", "#", "[]", "!") if path.endswith(one)), "")
        node = root.at(path.removesuffix(kind))
        if equals:
            node.starts.append(start)
        elif kind in ("~", "**"):
            node.is_shape, node.is_whole = True, kind == "**"
        else:
            node.kept = kind or "text"
    return root


class _Part:
    """The part of one document that is kept. Raises ``ValueError`` where it has too many values."""

    def __init__(self, mask: Mask) -> None:
        self._mask = mask
        self._left = _MOST_NODES

    def of(self, value: Any, nodes: "list[_Node]", *, in_list: bool = False) -> Any:
        if any(node.is_whole for node in nodes):
            return self.whole(value)
        self._count()
        if isinstance(value, dict):
            return dict(self._entries(value, nodes))
        if isinstance(value, list):
            return [self.of(item, nodes, in_list=True) for item in value]
        kept = {node.kept for node in nodes}
        if "[]" in kept if in_list else ("text" in kept or ("#" in kept and not isinstance(value, str))):
            return value
        starts = tuple(start for node in nodes for start in node.starts)
        if isinstance(value, str) and starts:
            return self._start(value, starts)
        return self.shape(value)

    def _entries(self, table: "dict[Any, Any]", nodes: "list[_Node]") -> Iterator[tuple[Any, Any]]:
        has_shape = any(node.is_shape for node in nodes)
        for key, value in table.items():
            below = [node.below[name] for node in nodes for name in (str(key), "*") if name in node.below]
            if below and all(node.kept == "!" for node in below):
                yield f"~{self._mask(str(key))[:12]}", self.shape(value)
                continue
            # what is kept without its shape only as far as the named paths go is dropped next to them
            if below:
                yield key, self.of(value, [*below, *(_SHAPE for _ in range(has_shape))])
            elif has_shape:
                yield self._key(key), self.shape(value)

    def _start(self, value: str, starts: tuple[str, ...]) -> Any:
        if "" in starts:
            name, equals, _ = value[1:].partition("=")
            return f"{value[:1]}{name}=" if equals else self.shape(value)
        return value if value.startswith(starts) else self.shape(value)

    def whole(self, value: Any) -> Any:
        self._count()
        if isinstance(value, dict):
            return {key: self.whole(item) for key, item in value.items()}
        return [self.whole(item) for item in value] if isinstance(value, list) else value

    def shape(self, value: Any) -> Any:
        self._count()
        if isinstance(value, dict):
            return {self._key(key): self.shape(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.shape(item) for item in value]
        if isinstance(value, str):
            return f"~{self._mask(value)[:12]}" if value else value
        if isinstance(value, bool) or not value:
            return value
        if isinstance(value, int | float):
            return type(value)(1 + int(self._mask(repr(value))[:7], 16))
        return dt.date(1970, 1, 1) if isinstance(value, dt.date | dt.time) else "~"

    def _key(self, key: Any) -> Any:
        return key if isinstance(key, str) and _KEY.fullmatch(key) else f"~{self._mask(str(key))[:12]}"

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ValueError(f"found more than {_MOST_NODES} values")


_SHAPE = _Node()
_SHAPE.is_shape = True


def _part(document: Any, names: tuple[str, ...], mask: Mask) -> Any:
    return _Part(mask).of(document, [_tree(names)])


def json_document(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""JSON, as Docker's daemon.json and CUDA's version.json.

    >>> json_document(b'{"hosts": ["unix:///a"], "runtimes": {"n": {"path": "/b", "x": 1}}}', ("hosts=unix://", "runtimes/*/path"), str)
    b'{"hosts": ["unix:///a"], "runtimes": {"n": {"path": "/b"}}}\n'
    """
    text = data.decode("utf-8", "replace").removeprefix("\ufeff").strip()
    try:
        document = json.loads(text or "null")
    except (ValueError, RecursionError):
        return scrambled(data, names, mask)
    return _dumped(_part(document, names, mask))


def yaml_document(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    """YAML or JSON, as CDI specifications are; comes out as JSON, which YAML contains."""
    from hostagent.core.yamlfile import YamlError, parse_foreign_yaml

    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        try:
            document = parse_foreign_yaml(data)
        except YamlError:
            return scrambled(data, names, mask)
    return _dumped(_part(document, names, mask))


def _dumped(document: Any) -> bytes:
    """A date is neither JSON nor a text: a list takes its place."""
    return f"{json.dumps(document, ensure_ascii=False, default=lambda _: [])}\n".encode("utf-8", "surrogateescape")


def toml(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""TOML. Marks that a strict reader refuses stay: a byte order mark, bytes that are no UTF-8.

    >>> toml(b'version = 2\nroot = "/x"\n[a."b.c"]\nx = 1\npassword = "x"\n', ("version", "a/*/x"), str)
    b'version = 2\n\n[a."b.c"]\nx = 1\n'
    """
    from hostagent.core.toml import TomlError, parse_toml

    try:
        document = parse_toml(data, strict=False)
    except TomlError:
        return scrambled(data, names, mask)
    text = "".join(_tables(_part(document, names, mask), ())).strip("\n")
    try:
        data.decode()
        broken = b""
    except UnicodeDecodeError:
        broken = b"#\xff\n"
    mark = b"\xef\xbb\xbf" if data.startswith(b"\xef\xbb\xbf") else b""
    return mark + f"{text}\n".encode() + broken


def _tables(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    """Values before tables: all that follows a heading belongs to it."""
    values = {key: value for key, value in table.items() if not isinstance(value, dict)}
    if path and (values or not table):
        yield f"\n[{'.'.join(map(_toml_key, path))}]\n"
    for key, value in values.items():
        yield f"{_toml_key(key)} = {_toml_value(value)}\n"
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _tables(value, (*path, key))


def _toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _quoted(key)


def _toml_value(value: Any) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml_value, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_toml_key(key)} = {_toml_value(item)}" for key, item in value.items()) + "}"
    return value.isoformat() if isinstance(value, dt.date | dt.time) else repr(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def scrambled(data: bytes, names: tuple[str, ...], mask: Mask) -> bytes:
    r"""Each word by another of its length, but for words of the names and NVIDIA's: where a parser stops, it stops again.

    >>> scrambled(b'{"hosts": ["x1"', ("hosts",), lambda word: "0123456789abcdef" * 4)
    b'{"hosts": ["a2"'
    """
    words: dict[bytes, bytes] = {word: word for word in _PLAIN} | {
        part.encode(): part.encode() for name in names for part in re.findall(r"\w+", name)
    }

    def other(found: "re.Match[bytes]") -> bytes:
        word: bytes = found[0]
        if not found[1] and word not in words:
            words[word] = b"nvidia".join(_letters(part, mask) for part in word.split(b"nvidia"))
        return words.get(word, word)

    return _WORD.sub(other, data)


def _letters(word: bytes, mask: Mask) -> bytes:
    digits = mask(word.decode()) * (1 + len(word) // 64)
    return "".join(_like(char, int(digit, 16)) for char, digit in zip(word.decode(), digits, strict=False)).encode()


def _like(char: str, number: int) -> str:
    if char.isdigit():
        return char if char == "0" else str(1 + number % 9)
    return char if char == "_" else chr((ord("A") if char.isupper() else ord("a")) + number)
