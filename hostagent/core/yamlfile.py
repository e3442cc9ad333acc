"""YAML, in bounded time and depth: ours (profiles, cases), strict; what other programs write (CDI specifications); and as we write it."""

# YAML's C loader ends the process at some 40,000 nested brackets and never calls an overridden alias hook, so nesting is limited
# before either loader runs. YAML 1.1 reads the key `off` as false: profiles are read by YAML 1.2's core words.

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import yaml

from hostagent.core.smallfile import read_small, reason

MAX_DEPTH = 50
#: Python prints no whole number of more than 4,300 decimal digits, of 640 where somebody wished so.
_MAX_BITS = 2048
_MAX_FOREIGN_BRACKETS = 10_000
_MAX_FOREIGN_DEPTH = 500
#: So many brackets cannot be too deep: each costs the scanner one step for every value within.
_FEW_BRACKETS = 100
#: Neither can indentation of fewer blanks, nor a shorter run of dashes, each of which opens a list in the one before, with its blanks.
_MANY_BLANKS = b" " * 100
_RUN = re.compile(rb"(?:[-?:][ \t]+)+")
_LONG_RUN = 40
#: Between two values stands one of these, or a bracket; libyaml breaks lines at the last three, too.
_BETWEEN = (b"\n", b"\r", b",", b": ", b":\t", b":\n", b"- ", b"? ", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x80\xa9")
#: libyaml compares each of these lines with all before it.
_MAX_TAG_LINES = 100
#: Chosen numbers as keys of one mapping take the square of their number; merges always do.
_MAX_SLOW_KEYS = 1000
_SLOW_KEYS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "merge"))
#: Characters: whole numbers of 64 bits in base 2 with underscores, and of base 60 (``1:30:00``), whose value takes the square.
_LONGEST_NUMBER, _LONGEST_BASE_60 = 140, 20
#: Values are built by Python at 8 microseconds each. A specification of a megabyte has 100,000. What an alias stands for counts each time,
#: its levels and its text (in characters), too: whoever walks through the values, or writes them, comes by it as often.
_MAX_FOREIGN_VALUES = 200_000
_MAX_FOREIGN_TEXT = 4_000_000
#: YAML 1.2's core words, and nothing of YAML 1.1: there the key ``off`` is False and ``0000:10:00.0`` a number.
_WORDS = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)|0x[0-9a-fA-F]+", list("-+0123456789")),
    ("float", r"[-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+|[-+]?\.inf|\.nan", list("-+0123456789.")),
)

#: What needs no quotes in any YAML: a word that is no number and none of the words of either version.
_PLAIN = re.compile(r"(?!(?:true|false|null|yes|no|on|off|y|n)$)[A-Za-z][A-Za-z0-9_./-]*", re.IGNORECASE)


class YamlError(ValueError):
    """The file cannot be read as strict YAML; the message says why and where. `line` counts from 1, 0 where none is to blame;
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
        """In one sentence, of what PyYAML raises."""
        text, mark = " ".join(str(error).split()) or type(error).__name__, getattr(error, "problem_mark", None)
        if not isinstance(error, yaml.MarkedYAMLError) or mark is None:
            return cls(text)
        return cls(text, ", ".join(filter(None, (error.problem, error.context))), mark.line + 1)


class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The C loader (5 times as fast), refusing what YAML allows and configuration should not."""

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
        if len(node.value) > _MAX_BITS:  # to build it takes the square of that
            raise yaml.constructor.ConstructorError(None, None, f"found a number of more than {_MAX_BITS} characters", node.start_mark)
        number: int = self.construct_yaml_int(node)
        if number.bit_length() > _MAX_BITS:
            raise yaml.constructor.ConstructorError(None, None, f"found a whole number of more than {_MAX_BITS} bits", node.start_mark)
        return number


class _ForeignLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """YAML 1.1 as its readers in Go take it: aliases, merges and keys that stand twice are no mistake. A number too long is text."""

    refuse_size: Callable[[Any], None] | None = None

    def construct_document(self, node: Any) -> Any:
        if self.refuse_size:
            self.refuse_size(node)
        return super().construct_document(node)

    def flatten_mapping(self, node: Any) -> None:
        _refuse_slow_keys(node)
        super().flatten_mapping(node)
        _refuse_slow_keys(node)  # what was merged has keys, too

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
#: What JSON has, too: no bytes, dates or sets by tag. The constructor of None refuses every other tag.
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
    r"""Where each value of a document that `parse_yaml` took stands: by keys and list positions, the line (from 1) and the scalar as it
    is written. Costs what reading the file costs: for messages.

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
    """One document of at most a megabyte that another program wrote, as `_ForeignLoader` takes it; raises ``YamlError``, also for aliases
    that stand for more than 200,000 values, 4,000,000 characters or 500 levels, or for what they stand in.
    """
    return next(foreign_documents((data,)))


def foreign_documents(parts: Iterable[bytes]) -> Iterator[Any]:
    """The same for several documents of one file, whose aliases together may stand for so much."""
    expanded = Expanded()

    def load(data: bytes) -> Any:
        loader = _ForeignLoader(data)
        try:
            loader.refuse_size = expanded.add if b"*" in data else None  # a document without aliases has the size that was counted
            return loader.get_single_data()
        finally:
            loader.dispose()

    for data in parts:
        yield _read(data, load, refuse_depth)


class Expanded:
    """How large documents are where each alias is what it stands for, without making it. Each node is looked at once."""

    def __init__(self) -> None:
        self._values = self._characters = 0

    def add(self, root: Any) -> None:
        """One more document, by the node at its top; raises ``YamlError`` where there are too many values, or an alias stands in itself."""
        values, characters, _ = _expanded(root)
        self._values += values
        self._characters += characters
        self._refuse(root)

    def _refuse(self, root: Any) -> None:
        if self._values > _MAX_FOREIGN_VALUES:
            raise YamlError.at(root.start_mark, f"found aliases that stand for more than {_MAX_FOREIGN_VALUES} values")
        if self._characters > _MAX_FOREIGN_TEXT:
            raise YamlError.at(root.start_mark, f"found aliases that stand for more than {_MAX_FOREIGN_TEXT} characters")


_Size = tuple[int, int, int]  # values, characters and levels


def _expanded(root: Any) -> _Size:
    sizes: dict[int, _Size] = {}
    is_open: set[int] = set()
    left = [root]
    while left:
        node = left[-1]
        if id(node) in sizes:
            left.pop()
        elif isinstance(node, yaml.ScalarNode):
            sizes[id(node)] = 1, len(node.value), 1
        elif id(node) in is_open:  # what stands in it is counted
            is_open.discard(id(node))
            sizes[id(node)] = _sum(node, [sizes[id(one)] for one in _inside(node)])
        else:
            is_open.add(id(node))
            inside = _inside(node)
            if any(id(one) in is_open for one in inside):
                raise YamlError.at(node.start_mark, "found an alias in what it stands for")
            left += inside
    return sizes[id(root)]


def _inside(node: Any) -> list[Any]:
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
    # PyYAML's constructors index and look up what a tag promised and a value need not hold (``!!int ""``, ``!!bool x``)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise (error if isinstance(error, YamlError) else YamlError.of(error)) from error


def _refuse_aliases_and_depth(data: bytes) -> None:
    """Before anything is built: the C loader builds by recursion on the C stack (40,000 brackets end the process) and
    never asks Python about an alias.
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
    """The same, cheaply: following the events is exact and costs eight times the whole load of a specification.

    Too many levels end the process, or take the square of their number. A level is opened by a bracket, by deeper indentation, or by
    one of a run of dashes: no generator writes many of the first, or much of the others, and only where there are the events are
    followed. As many values as there can be are counted by what stands between two of them.
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
    """Quotes what any reader of YAML could take for something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def written_text(self, text: str) -> yaml.ScalarNode:
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=None if _PLAIN.fullmatch(text) else '"')


_Dumper.add_representer(str, _Dumper.written_text)


def write_yaml(value: Any) -> str:
    r"""As people write it: keys in their order, one line for each text, ASCII.

    >>> write_yaml({"name": "a", "version": "1.10", "is": "no"})
    'name: a\nversion: "1.10"\nis: "no"\n'
    """
    # a width that no text has: folded lines are hard to edit
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=2**31, allow_unicode=False)
