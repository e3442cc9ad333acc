"""Facts as JSON, from the process that reads an image to its parent, which validates their types."""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from hostagent.core.typed import build, plain
from hostagent.core.unread import Unread
from hostagent.engine.collect import Fact

_PACKAGE = "hostagent.facts."
#: Fact types of which a host has several.
MANY = frozenset({"Gpu", "Nic", "RdmaPort", "Runtime"})


def pack(fact: Fact) -> "list[Any]":
    """Name, module of its class ("" where there is no instance), value, milliseconds; of each gap in it why, detail, question, evidence."""
    value = fact.value
    one = value[0] if isinstance(value, tuple) and value else value
    gaps = [[gap.why, gap.detail, gap.question, list(gap.evidence)] for gap in _gaps(value)]
    return [fact.name, type(one).__module__ if is_dataclass(one) else "", plain(value), fact.took_ms, gaps]


def unpack(row: Any) -> Fact:
    """The fact of `pack`. Raises ``ValueError`` for other data."""
    match row:
        case [str(name), str(module), value, float() | int() as took_ms, [*rows]]:
            pass
        case _:
            raise ValueError("found no fact")
    value = _value(name, module, value)
    for one, known in zip(_gaps(value), map(_gap, rows), strict=True):
        if one != known:
            raise ValueError(f"found another gap of {name} than it has")
        one.question, one.evidence = known.question, known.evidence
    return Fact(name, value, b"", float(took_ms), is_new=True)


def _value(name: str, module: str, value: Any) -> Any:
    if not module:
        empty: Any = () if value == [] and name in MANY else build(Unread | None, value, name)
        if empty is None:
            raise ValueError(f"found nothing for {name}")
        return empty
    if not module.startswith(_PACKAGE) or not module.removeprefix(_PACKAGE).isidentifier():
        raise ValueError(f"found the module of a fact {module!r:.80}")
    try:
        kind = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise ValueError(f"found no module {module!r:.80} of facts") from error
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise ValueError(f"found no fact type {name!r:.80}")
    return build(tuple[kind, ...] if name in MANY else kind, value, name)  # type: ignore[valid-type]


def _gap(row: Any) -> Unread:
    match row:
        case [str(why), str(detail), str(question), [*evidence]] if all(isinstance(line, str) for line in evidence):
            gap: Unread = build(Unread | None, {"unread": why, "detail": detail}, "gap")
            gap.question, gap.evidence = question, tuple(evidence)
            return gap
    raise ValueError("found no gap")


def _gaps(value: Any) -> Iterator[Unread]:
    if isinstance(value, Unread):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from _gaps(one)
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _gaps(one)
    elif is_dataclass(value):
        for field in fields(value):
            yield from _gaps(getattr(value, field.name))
