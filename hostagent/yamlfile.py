"""YAML files of ours (profiles, cases): safe, small, no duplicate keys, no aliases."""

import os
import stat
from typing import Any

import yaml

MAX_DEPTH = 50


class YamlError(ValueError):
    """The file cannot be read as strict YAML; the message says why and where."""


class _StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """The C loader (5 times as fast), refusing what YAML allows and configuration should not."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:  # noqa: FBT002  PyYAML's signature
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool):
                raise yaml.constructor.ConstructorError(None, None, "found a key that is no scalar", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"found the key {key!r} twice", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


def load_yaml(path: str, limit: int) -> Any:
    """The document in a regular file of at most `limit` bytes; raises ``YamlError``."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as stream:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise YamlError("found something that is not a file, wanted a YAML file")
            data = stream.read(limit + 1)
    except OSError as error:
        raise YamlError(f"{(error.strerror or str(error)).lower()}") from error
    if len(data) > limit:
        raise YamlError(f"found more than {limit} bytes")
    return parse_yaml(data)


def parse_yaml(data: bytes) -> Any:
    """One YAML document; raises ``YamlError`` for anything else."""
    try:
        _refuse_aliases_and_depth(data)
        return yaml.load(data, Loader=_StrictLoader)  # noqa: S506  _StrictLoader is a SafeLoader
    # PyYAML's constructors index and look up what a tag promised and a value need not hold (``!!int ""``, ``!!bool x``)
    except (yaml.YAMLError, ValueError, RecursionError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise YamlError(" ".join(str(error).split()) or type(error).__name__) from error


def _refuse_aliases_and_depth(data: bytes) -> None:
    """Before anything is built: the C loader builds by recursion on the C stack (40,000 brackets end the process) and
    never asks Python about an alias.
    """
    depth = 0
    for event in yaml.parse(data, Loader=_StrictLoader):
        if isinstance(event, yaml.events.AliasEvent):
            raise YamlError(f"found an alias, wanted plain values {event.start_mark}")
        if isinstance(event, yaml.events.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.events.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise YamlError(f"found more than {MAX_DEPTH} levels {event.start_mark}")
