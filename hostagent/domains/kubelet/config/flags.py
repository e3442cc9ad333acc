"""The kubelet's command line: its flags by version, the fields they set, and its errors."""

import functools
import ipaddress
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hostagent.domains.kubelet.config.golang import number, parse_duration, quoted, truth, whole
from hostagent.domains.kubelet.config.quantity import Quantity, parse_quantity
from hostagent.domains.kubelet.config.rows import holds, rows_of
from hostagent.domains.kubelet.config.schema import Fields
from hostagent.domains.kubelet.tables.defaults import NEWEST
from hostagent.domains.kubelet.tables.flags import FLAGS, SHORT

_BITS = {"i32": 32, "i64": 64, "u32": 33}


class Flag(NamedTuple):
    """A flag on the command line."""

    name: str
    kind: str
    path: str  # of the field that it sets: authentication.anonymous.enabled; "" for none
    value: str


class Paths(NamedTuple):
    """The paths that a reader needs from a command line, "" for a missing flag."""

    config: str
    config_dir: str
    root_dir: str


class FlagError(ValueError):
    """The kubelet refuses its command line. `by_name`: because it does not know a flag."""

    def __init__(self, text: str, *, by_name: bool = False) -> None:
        super().__init__(text)
        self.by_name = by_name


@functools.lru_cache(maxsize=16)
def _known(minor: int) -> dict[str, tuple[str, str]]:
    return {row[0]: (row[1], "" if row[2] == "." else row[2]) for row in rows_of(FLAGS) if holds(row[3:], minor)}


def parse_flags(words: tuple[str, ...], minor: int = NEWEST) -> tuple[Flag, ...]:
    """In their order; raises ``FlagError`` for words that are none, unknown flags and missing values. Values are not looked at.

    >>> parse_flags(("--max_pods=5", "-v", "4"), 35)
    (Flag(name='max-pods', kind='i32', path='maxPods', value='5'), Flag(name='v', kind='u32', path='', value='4'))
    """
    found, rest, others = list[Flag](), list(reversed(words)), list[str]()
    while rest:
        word = rest.pop()
        if word == "--":
            others += reversed(rest)
            break
        if not word.startswith("-") or word == "-":
            others.append(word)
            continue
        found.append(_long(word, rest, minor) if word.startswith("--") else _shorthand(word, rest, minor))
    if others:
        raise FlagError(f"unknown command {others[0]}")
    return tuple(found)


def _long(word: str, rest: list[str], minor: int) -> Flag:
    name, equals, value = word[2:].partition("=")
    if not name or name[0] == "-":
        raise FlagError(f"failed to parse kubelet flag: bad flag syntax: {word}")
    name, known = name.replace("_", "-"), _known(minor)
    if name not in known:
        raise FlagError(f"failed to parse kubelet flag: unknown flag: --{name}", by_name=True)
    kind, path = known[name]
    if not equals:
        if kind == "b":
            value = "true"
        elif rest:
            value = rest.pop()
        else:
            raise FlagError(f"failed to parse kubelet flag: flag needs an argument: --{name}")
    return Flag(name, kind, path, value)


def _shorthand(word: str, rest: list[str], minor: int) -> Flag:
    letter, value = word[1], word[2:].removeprefix("=") if len(word) > 3 else word[2:]
    if letter not in SHORT:
        raise FlagError(f"failed to parse kubelet flag: unknown shorthand flag: {letter!r} in {word}", by_name=True)
    name = SHORT[letter]
    kind, path = _known(minor)[name]
    if kind == "b":
        return Flag(name, kind, path, "true")
    if not value:
        if not rest:
            raise FlagError(f"failed to parse kubelet flag: flag needs an argument: {letter!r} in {word}")
        value = rest.pop()
    return Flag(name, kind, path, value)


def paths_of(words: tuple[str, ...]) -> Paths:
    """Paths of configuration and state by the flags, also for a command line that the kubelet rejects."""
    found = {"config": "", "config-dir": "", "root-dir": ""}
    following = ""
    for word in words:
        if following:
            found[following], following = word, ""
            continue
        name, equals, value = word.removeprefix("--").partition("=")
        name = name.replace("_", "-")
        if word.startswith("--") and name in found:
            found[name], following = (value, "") if equals else ("", name)
    return Paths(*found.values())


def checked(flags: tuple[Flag, ...]) -> None:
    """Raises ``FlagError`` for the first value that its flag does not take."""
    applied(flags, {}, only_config=False)


def applied(flags: tuple[Flag, ...], config: Fields, *, only_config: bool = True) -> Fields:
    """`config` with what the flags set; of a list or a map the first use replaces, the next ones add."""
    result, begun = config, set[str]()
    for flag in flags:
        if only_config and not flag.path:
            continue
        try:
            result = _apply(flag, result, first=flag.name not in begun)
        except ValueError as error:
            shown = f'"-{flag.name}, --{flag.name}"' if len(flag.name) == 1 else f'"--{flag.name}"'
            raise FlagError(f"failed to parse kubelet flag: invalid argument {quoted(flag.value)} for {shown} flag: {error}") from error
        begun.add(flag.name)
    return result


def _apply(flag: Flag, config: Fields, *, first: bool) -> Fields:
    path = flag.path.split(".") if flag.path else [f"--{flag.name}"]
    holder: Any = config
    for part in path[:-1]:
        holder = holder.get(part) or {}
    before = None if first else holder.get(path[-1])
    return _with(config, path, _READ[flag.kind](flag, before))


def _with(config: Fields, path: list[str], value: Any) -> Fields:
    if len(path) == 1:
        return {**config, path[0]: value}
    return {**config, path[0]: _with(config.get(path[0]) or {}, path[1:], value)}


def _integer(flag: Flag, _: Any) -> int:
    if flag.kind == "u32":
        value = whole(flag.value, 0)
        if value is None or not 0 <= value < 2**31:
            number(flag.value, 32, 0)
            raise ValueError("value out of range")
        return value
    return number(flag.value, _BITS[flag.kind], 0)


def _address(flag: Flag, _: Any) -> str:
    if not flag.value:
        return ""
    try:
        ipaddress.ip_address(flag.value)
    except ValueError as error:
        raise ValueError(f"{quoted(flag.value)} is not a valid IP address") from error
    return flag.value


def _pairs(text: str, between: str, kind: str) -> Iterator[tuple[str, str]]:
    for pair in text.split(","):
        if not pair:
            continue
        name, found, value = pair.partition(between)
        if not found:
            raise ValueError(f"malformed pair, expect string{between}{kind}")
        yield name.strip(), value.strip()


def _map(flag: Flag, before: Any) -> dict[str, str]:
    between = "<" if flag.kind == "ml" else "="
    return {**(before or {}), **dict(_pairs(flag.value, between, "string"))}


def _one(flag: Flag, before: Any) -> dict[str, str]:
    name, found, value = flag.value.partition("=")
    if not found:
        raise ValueError("malformed pair, expect string=string")
    return {**(before or {}), name.strip(): value.strip()}


def _gates(flag: Flag, before: Any) -> dict[str, bool]:
    found = dict(before or {})
    for name, value in _pairs(flag.value, "=", "bool"):
        try:
            found[name] = truth(value)
        except ValueError as error:
            raise ValueError(f"invalid value of {name}: {value}, err: {error}") from error
    return found


def _words(flag: Flag, before: Any) -> list[str]:
    return [*(before or []), *flag.value.split(",")] if flag.value else list(before or [])


def _memory(flag: Flag, before: Any) -> Any:
    if not flag.value:
        return before
    found = list(before or [])
    for reservation in flag.value.split(";"):
        node, *limits = reservation.split(":")
        if len(limits) != 1:
            wanted = "numaNodeID:type=quantity[,type=quantity...]"
            raise ValueError(f"the reserved memory has incorrect format, expected {wanted}, got {reservation}")
        identity = whole(node)
        if identity is None:
            raise ValueError(f"failed to convert the NUMA node ID, expected integer, got {node}")
        found.append({"numaNode": (identity + 2**31) % 2**32 - 2**31, "limits": dict(map(_limit, limits[0].split(",")))})
    return found


def _limit(text: str) -> tuple[str, Quantity]:
    name, *values = text.split("=")
    if len(values) != 1:
        raise ValueError(f"the reserved limit has incorrect value, expected type=quantity, got {text}")
    if name != "memory" and not name.startswith("hugepages-"):
        raise ValueError(f"memory type conversion error, unknown type: {quoted(name)}")
    try:
        return name, parse_quantity(values[0])
    except ValueError as error:
        raise ValueError(f"failed to parse the quantity: {values[0]}") from error


def _quantity(flag: Flag, _: Any) -> Quantity:
    return parse_quantity(flag.value)


_READ: dict[str, Callable[[Flag, Any], Any]] = {
    "s": lambda flag, _: flag.value,
    "x": lambda flag, _: flag.value,
    "rt": lambda flag, _: flag.value,
    "mm": lambda flag, _: flag.value,
    "b": lambda flag, _: truth(flag.value),
    "d": lambda flag, _: parse_duration(flag.value),
    **dict.fromkeys(("i32", "i64", "u32"), _integer),
    "q": _quantity, "ip": _address, "sl": _words, "ms": _map, "ml": _map, "mn": _one, "mb": _gates, "rm": _memory,
}  # fmt: skip
