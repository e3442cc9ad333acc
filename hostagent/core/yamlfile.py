"""YAML in bounded time and depth: a strict parser for our files, a tolerant one for those of other programs (CDI), and a writer."""

# YAML's C loader ends the process at some 40,000 nested brackets and never calls an overridden alias hook, so nesting is limited
# before either loader runs. YAML 1.1 reads the key `off` as false: profiles are read by YAML 1.2's core words.

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import yaml

from hostagent.core.smallfile import read_small, reason

MAX_DEPTH = 50
#: Python prints no integer of more than 4,300 decimal digits (sys.set_int_max_str_digits: as few as 640).
_MAX_BITS = 2048
_MAX_FOREIGN_BRACKETS = 10_000
_MAX_FOREIGN_DEPTH = 500
#: So few brackets cannot be too deep; each costs the scanner one step for every value within.
_FEW_BRACKETS = 100
#: Neither can indentation of fewer blanks, nor a shorter run of dashes, each of which opens a list in the one before, with its blanks.
_MANY_BLANKS = b" " * 100
_RUN = re.compile(rb"(?:[-?:][ \t]+)+")
_LONG_RUN = 40
#: One of these, or a bracket, separates two values; libyaml breaks lines at the last three, too.
_BETWEEN = (b"\n", b"\r", b",", b": ", b":\t", b":\n", b"- ", b"? ", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
#: libyaml compares each of these lines with all before it.
_MAX_TAG_LINES = 100
#: Crafted numbers as keys of one mapping take quadratic time (hash collisions); merges always do.
_MAX_SLOW_KEYS = 1000
_SLOW_KEYS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "merge"))
#: Characters: whole numbers of 64 bits in base 2 with underscores, and of base 60 (``1:30:00``), which take quadratic time.
_LONGEST_NUMBER, _LONGEST_BASE_60 = 140, 20
#: Python builds a value in 8 microseconds; a specification of a megabyte has 100,000. The values, levels and text (in characters) of an
#: alias count at each use: code that walks through the values, or writes them, meets them as often.
_MAX_FOREIGN_VALUES = 200_000
_MAX_FOREIGN_TEXT = 4_000_000
#: The core schema of YAML 1.2, not YAML 1.1, where the key ``off`` is False and ``0000:10:00.0`` a number.
_WORDS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?\.inf|\.nan", list("-+0123456789.")),
)

#: Needs no quotes in any YAML: a word that is no number and no keyword of either version.
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[A-Za-z][A-Za-z0-9_./-]*", re.IGNORECASE)


class YamlError(ValueError):
    """The file cannot be parsed as YAML; the message has the reason and the place. `line` counts from 1, 0 without a line;
    `problem` is the message without the place.
    """

    def __init__(self, text: str, problem: str = "", line: int = 0) -> None:
        super().__init__(text)
        self.problem = problem or text
        self.line = line

    @classmethod
    def at(cls, mark: Any, problem: str) -> "YamlError":
        return cls(f"{problem} {mark}", problem, mark.line + 1)

    @classmethod
    def of(cls, error: Exception) -> "YamlError":
        """One sentence from an exception of PyYAML."""
        text, mark = " ".join(str(error).split()) or type(error).__name__, getattr(error, "problem_mark", None)
        if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
            return cls(text)
        return cls(text, ", ".join(filter(None, (error.problem, error.context))), mark.line + 1)


class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The C loader (5 times as fast) without YAML features that configuration should not use."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT002  PyYAML's signature
        _refuse_slow_keys(node)
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool):
                raise yaml.constructor.ConstructorError(None, None, "found a key that is no scalar", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"found the key {key!r} twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)

    def construct_number(self, node: Any) -> int:
        if len(node.value) > _MAX_BITS:  # building it takes quadratic time
            raise yaml.constructor.ConstructorError(None, None, f"found a number of more than {_MAX_BITS} characters", node.start_mark)
        number: int = self.construct_yaml_int(node)
        if number.bit_length() > _MAX_BITS:
            raise yaml.constructor.ConstructorError(None, None, f"found a whole number of more than {_MAX_BITS} bits", node.start_mark)
        return number


class _ForeignLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML 1.1 as Go programs read it: aliases, merges and duplicate keys are accepted. A number that is too long is text."""

    refuse_size: Callable[[Any], None] | None = None

    def construct_document(self, node: Any) -> Any:
        if self.refuse_size:
            self.refuse_size(node)
        return super().construct_document(node)

    def flatten_mapping(self, node: Any) -> None:
        _refuse_slow_keys(node)
        super().flatten_mapping(node)
        _refuse_slow_keys(node)  # merged mappings add keys

    def construct_whole(self, node: Any) -> int | str:
        text: str = self.construct_scalar(node)
        if len(text) > (_LONGEST_BASE_60 if ":" in text else _LONGEST_NUMBER):
            return text
        number: int = self.construct_yaml_int(node)
        return number if -(2**63) <= number < 2**64 else text

    def construct_real(self, node: Any) -> float | str:
        text: str = self.construct_scalar(node)
        return text if ":" in text and len(text) > _LONGEST_BASE_60 else float(self.construct_yaml_float(node))


def _refuse_slow_keys(node: Any) -> None:
    if len(node.value) > _MAX_SLOW_KEYS and sum(key.tag in _SLOW_KEYS for key, _ in node.value) > _MAX_SLOW_KEYS:
        problem = f"found more than {_MAX_SLOW_KEYS} numbers or merges as keys of one mapping"
        raise yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


_ForeignLoader.add_constructor("tag:yaml.org,2002:int", _ForeignLoader.construct_whole)
_ForeignLoader.add_constructor("tag:yaml.org,2002:float", _ForeignLoader.construct_real)
_StrictLoader.yaml_implicit_resolvers = {}
#: Only types of JSON: no bytes, dates or sets by tag. The constructor of None rejects every other tag.
_StrictLoader.yaml_constructors = {
    tag: made
    for tag, made in _StrictLoader.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in {"null", "bool", "float", "str", "seq", "map"}
}
_StrictLoader.add_constructor("tag:yaml.org,2002:int", _StrictLoader.construct_number)
for _word, _pattern, _starts in _WORDS:
    _StrictLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_word}", re.compile(f"(?:{_pattern})$"), _starts)


def load_yaml(path: str, limit: int) -> Any:
    """The document in a regular file of at most `limit` bytes; raises ``YamlError``."""
    try:
        data = read_small(path, limit)
    except OSError as error:
        raise YamlError(reason(error)) from error
    return parse_yaml(data)


def parse_yaml(data: bytes) -> Any:
    """One YAML document; raises ``YamlError`` for anything else."""
    return _load(data, _StrictLoader, _refuse_aliases_and_depth)


def places(data: bytes) -> dict[tuple[Any, ...], tuple[int, str]]:
    r"""Line (from 1) and source text of each value of a document that `parse_yaml` accepts, by keys and list positions. As expensive as
    parsing the file: for error messages.

    >>> places(b"gpus:\n  count: 0x8\n")[("gpus", "count")]
    (2, '0x8')
    """
    loader = _StrictLoader(data)
    try:
        found = dict[tuple[Any, ...], tuple[int, str]]()
        root = loader.get_single_node()
        if root is not None:
            _place(loader, root, (), root.start_mark.line + 1, found)
        return found
    finally:
        loader.dispose()


def _place(loader: Any, node: Any, path: tuple[Any, ...], line: int, found: dict[tuple[Any, ...], tuple[int, str]]) -> None:
    found[path] = (line, node.value if isinstance(node, yaml.ScalarNode) else "")
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _place(loader, value, (*path, loader.construct_object(key, deep=True)), key.start_mark.line + 1, found)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            _place(loader, value, (*path, number), value.start_mark.line + 1, found)


def parse_foreign_yaml(data: bytes) -> Any:
    """One document of at most a megabyte that another program wrote, by `_ForeignLoader`. Raises ``YamlError``, also for aliases that
    expand to more than 200,000 values, 4,000,000 characters or 500 levels, or to themselves.
    """
    return next(foreign_documents((data,)))


def foreign_documents(parts: Iterable[bytes]) -> Iterator[Any]:
    """The same for several documents of one file, with one limit for all their aliases."""
    expanded = Expanded()

    def load(data: bytes) -> Any:
        loader = _ForeignLoader(data)
        try:
            loader.refuse_size = expanded.add if b"*" in data else None  # without aliases the size is known
            return loader.get_single_data()
        finally:
            loader.dispose()

    for data in parts:
        yield _read(data, load, refuse_depth)


class Expanded:
    """Size of documents with all aliases expanded, computed without expanding them: each node is visited once."""

    def __init__(self) -> None:
        self._values = self._characters = 0

    def add(self, root: Any) -> None:
        """Add a document by its root node; raises ``YamlError`` for too many values, or an alias within itself."""
        values, characters, _ = _size_of(root)
        self._values += values
        self._characters += characters
        self._refuse(root)

    def _refuse(self, root: Any) -> None:
        if self._values > _MAX_FOREIGN_VALUES:
            raise YamlError.at(root.start_mark, f"found aliases that stand for more than {_MAX_FOREIGN_VALUES} values")
        if self._characters > _MAX_FOREIGN_TEXT:
            raise YamlError.at(root.start_mark, f"found aliases that stand for more than {_MAX_FOREIGN_TEXT} characters")


_Size = tuple[int, int, int]  # values, characters and levels


def _size_of(root: Any) -> _Size:
    sizes: dict[int, _Size] = {}
    is_open: set[int] = set()
    left = [root]
    while left:
        node = left[-1]
        if id(node) in sizes:
            left.pop()
        elif isinstance(node, yaml.ScalarNode):
            sizes[id(node)] = 1, len(node.value), 1
        elif id(node) in is_open:  # its contents are counted
            is_open.discard(id(node))
            sizes[id(node)] = _sum(node, [sizes[id(one)] for one in _children(node)])
        else:
            is_open.add(id(node))
            inside = _children(node)
            if any(id(one) in is_open for one in inside):
                raise YamlError.at(node.start_mark, "found an alias in what it stands for")
            left += inside
    return sizes[id(root)]


def _children(node: Any) -> list[Any]:
    """Keys and values, or items."""
    return [one for pair in node.value for one in pair] if isinstance(node, yaml.MappingNode) else list(node.value)


def _sum(node: Any, inside: list[_Size]) -> _Size:
    levels = 1 + max((one[2] for one in inside), default=0)
    if levels > _MAX_FOREIGN_DEPTH:
        raise YamlError.at(node.start_mark, f"found aliases that stand for more than {_MAX_FOREIGN_DEPTH} levels")
    return 1 + sum(one[0] for one in inside), sum(one[1] for one in inside), levels


def _load(data: bytes, loader: Any, refuse: Callable[[bytes], None]) -> Any:
    return _read(data, lambda text: yaml.load(text, Loader=loader), refuse)  # noqa: S506  a SafeLoader


def _read(data: bytes, load: Callable[[bytes], Any], refuse: Callable[[bytes], None]) -> Any:
    try:
        refuse(data)
        return load(data)
    # PyYAML's constructors fail on values that do not fit their tag (``!!int ""``, ``!!bool x``)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise (error if isinstance(error, YamlError) else YamlError.of(error)) from error


def _refuse_aliases_and_depth(data: bytes) -> None:
    """Before anything is built: the C loader recurses on the C stack (40,000 brackets end the process) and never calls Python for an
    alias.
    """
    _refuse_events(data, _StrictLoader, aliases=False)


def _refuse_events(data: bytes, loader: Any, *, aliases: bool) -> None:
    depth = 0
    for event in yaml.parse(data, Loader=loader):
        if isinstance(event, yaml.events.AliasEvent) and not aliases:
            raise YamlError.at(event.start_mark, "found an alias, wanted plain values")
        if isinstance(event, yaml.events.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.events.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise YamlError.at(event.start_mark, f"found more than {MAX_DEPTH} levels")


def refuse_depth(data: bytes) -> None:
    """A cheap check of depth: following the events is exact, but costs eight times the whole load of a specification.

    Too many levels end the process, or take quadratic time. A bracket, deeper indentation, or one of a run of dashes opens a level:
    generators write few of them, and only where there are many the events are followed. The number of values is bounded by the
    number of separators.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise YamlError("found UTF-16, wanted UTF-8")
    brackets = data.count(b"[") + data.count(b"{")
    if brackets > _MAX_FOREIGN_BRACKETS:
        raise YamlError(f"found more than {_MAX_FOREIGN_BRACKETS} brackets")
    if brackets + sum(map(data.count, _BETWEEN)) > _MAX_FOREIGN_VALUES:
        raise YamlError(f"found more than {_MAX_FOREIGN_VALUES} values")
    if data.count(b"%TAG") > _MAX_TAG_LINES:
        raise YamlError(f"found more than {_MAX_TAG_LINES} lines of %TAG")
    is_long = any(run.end() - run.start() > _LONG_RUN for run in _RUN.finditer(data))
    if brackets > _FEW_BRACKETS or _MANY_BLANKS in data or is_long:
        _refuse_events(data, _ForeignLoader, aliases=True)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that some YAML parser could read as another type."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def written_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if _PLAIN.fullmatch(text) else '"')


_Dumper.add_representer(str, _Dumper.written_text)


def write_yaml(value: Any) -> str:
    r"""Readable YAML: keys in their order, one line for each text, ASCII.

    >>> write_yaml({"name": "a", "version": "1.10", "is": "no"})
    'name: a\nversion: "1.10"\nis: "no"\n'
    """
    # wider than any text: folded lines are hard to edit
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=2**31, allow_unicode=False)
