"""YAML as the kubelet reads it: YAML 1.1 with the errors of Go's parser, the first document only, keys converted to strings.

The rules are those of go.yaml.in/yaml v2 and sigs.k8s.io/yaml: ``on`` and ``y`` are true, ``010`` is 8, a date is text, a repeated
key has its last value and is an error in strict parsing only.
"""

import base64
import binascii
import math
import re
from typing import Any

import yaml

from hostagent.core.yamlfile import YamlError, refuse_depth
from hostagent.domains.kubelet.config.golang import quoted, whole
from hostagent.domains.kubelet.config.values import MAX_DEPTH, Members, Real, TooLargeError

_PLAIN = "!plain"
_TAG = "tag:yaml.org,2002:"
_WORDS: dict[str, tuple[str, Any]] = (
    dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), ("bool", True))
    | dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), ("bool", False))
    | dict.fromkeys(("", "~", "null", "Null", "NULL"), ("null", None))
    | dict.fromkeys((".nan", ".NaN", ".NAN"), ("float", math.nan))
    | dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), ("float", math.inf))
    | dict.fromkeys(("-.inf", "-.Inf", "-.INF"), ("float", -math.inf))
)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_DATE = re.compile(r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[Tt ][0-9]{1,2}:[0-9]{1,2}:[0-9]{1,2}(?:\.[0-9]*)?(?:Z|[-+][0-9]{2}:[0-9]{2})?)?\Z")
#: Values that are built, and characters of their texts; those of aliases counted each time.
_MAX_VALUES, _MAX_TEXT = 200_000, 4_000_000


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Marks plain scalars and resolves nothing."""


_Loader.yaml_implicit_resolvers = {}
_Loader.add_implicit_resolver(_PLAIN, re.compile(""), None)


def parse_go_yaml(data: bytes) -> tuple[Any, tuple[str, ...]]:
    r"""The first document as JSON would have it, and what a strict reading finds wrong with it.

    Raises ``ValueError`` in the words of Go's reader, ``TooLargeError`` for what is not read here.

    >>> parse_go_yaml(b"a: 010\nb: on\na: [1, null]\n")
    (Members([('a', [1, None]), ('b', True)]), ('line 3: key "a" already set in map',))
    """
    try:
        refuse_depth(data)
    except YamlError as error:
        raise TooLargeError(str(error)) from error
    except (yaml.YAMLError, ValueError, UnicodeError) as error:
        raise ValueError(_problem(error)) from error
    loader = None
    try:
        loader = _Loader(data)
        node = loader.get_node() if loader.check_node() else None
    except (yaml.YAMLError, ValueError, UnicodeError, RecursionError) as error:
        raise ValueError(_problem(error)) from error
    finally:
        if loader is not None:
            loader.dispose()
    reading = _Reading()
    value = None if node is None else reading.value(node, 0)
    return value, tuple(reading.strict)


def _problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    if isinstance(error, yaml.MarkedYAMLError) and mark is not None:
        return f"yaml: line {mark.line + 1}: {error.problem}"
    return f"yaml: {' '.join(str(error).split())}"


class _Reading:
    """Builds the values of one document."""

    def __init__(self) -> None:
        self.strict: list[str] = []
        self._left, self._text_left = _MAX_VALUES, _MAX_TEXT
        self._open: set[int] = set()

    def value(self, node: Any, depth: int) -> Any:
        self._spend()
        if depth > MAX_DEPTH:
            raise TooLargeError(f"more than {MAX_DEPTH} levels")
        if isinstance(node, yaml.ScalarNode):
            self._spend_text(node)
            return _json(_scalar(node))
        if id(node) in self._open:
            raise ValueError("yaml: anchor value contains itself")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, depth + 1) for item in node.value]
            found: dict[str, Any] = {}
            self._mapping(node, found, depth)
            return Members(list(found.items()))
        finally:
            self._open.discard(id(node))

    def _spend(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise ValueError("yaml: document contains excessive aliasing")

    def _spend_text(self, node: Any) -> None:
        self._text_left -= len(node.value)
        if self._text_left < 0:
            raise TooLargeError(f"more than {_MAX_TEXT} characters")

    def _mapping(self, node: Any, found: dict[str, Any], depth: int) -> None:
        for key_node, value_node in node.value:
            if isinstance(key_node, yaml.ScalarNode) and key_node.value == "<<" and key_node.tag in {_PLAIN, f"{_TAG}merge"}:
                self._merge(value_node, found, depth + 1)
                continue
            key, value = self._key(key_node), self.value(value_node, depth + 1)
            if key in found:
                self.strict.append(f"line {value_node.start_mark.line + 1}: key {quoted(key)} already set in map")
            found[key] = value

    def _merge(self, node: Any, found: dict[str, Any], depth: int) -> None:
        wanted = reversed(node.value) if isinstance(node, yaml.SequenceNode) else [node]
        for each in wanted:
            self._spend()
            if not isinstance(each, yaml.MappingNode):
                raise ValueError("yaml: map merge requires map or sequence of maps as the value")  # noqa: TRY004  in its words
            if id(each) in self._open or depth > MAX_DEPTH:
                raise ValueError("yaml: anchor value contains itself")
            self._open.add(id(each))
            self._mapping(each, found, depth + 1)
            self._open.discard(id(each))

    def _key(self, node: Any) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise ValueError("yaml: invalid map key")  # noqa: TRY004  in its words
        self._spend()
        self._spend_text(node)
        value = _scalar(node)
        if isinstance(value, bool):
            return "true" if value else "false"
        if value is None or (isinstance(value, int) and value >= 2**63):
            raise ValueError("unsupported map key")
        return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _json(value: Any) -> Any:
    """A number as it comes out of JSON: what is whole is whole."""
    if not isinstance(value, float):
        return value
    if math.isnan(value) or math.isinf(value):
        raise ValueError(f"json: unsupported value: {'NaN' if math.isnan(value) else '+Inf' if value > 0 else '-Inf'}")
    return int(value) if value == int(value) and abs(value) < 1e21 else Real(repr(value))


def _scalar(node: Any) -> Any:
    tag, text = node.tag, node.value
    if tag == _PLAIN and node.style in {None, ""}:
        return _resolved(text, dated=True)[1]
    kind = tag.removeprefix(_TAG) if tag.startswith(_TAG) else ""
    if kind == "binary":
        try:
            return base64.b64decode("".join(text.split()), validate=True).decode("utf-8", "replace")
        except (binascii.Error, ValueError) as error:
            raise ValueError("yaml: !!binary value contains invalid base64 data") from error
    if kind not in {"bool", "int", "float", "null", "timestamp"}:
        return text
    found, value = _resolved(text, dated=kind == "timestamp")
    if kind == "float" and found == "int":
        return float(value)
    if found != kind:
        raise ValueError(f"yaml: cannot decode !!{found} `{text}` as a !!{kind}")
    return value


def _resolved(text: str, *, dated: bool) -> tuple[str, Any]:
    """Kind and value of a plain scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "+-.0123456789":
        return "str", text
    if dated and text[:4].isdecimal() and _DATE.match(text):
        return "timestamp", text
    if text[0] != ".":
        plain = text.replace("_", "")
        number = whole(plain, 0)
        if number is not None and -(2**63) <= number < 2**64:
            return "int", number
        if not _FLOAT.match(plain):
            return "str", text
        text = plain
    try:
        value = float(text) if len(text) < 1000 and "_" not in text else None
    except ValueError:
        value = None
    return ("str", text) if value is None or math.isinf(value) or math.isnan(value) else ("float", value)
