"""Documents as the kubelet has them once they are JSON: members in order, with repeated keys."""

import json
from typing import Any, NoReturn

_MAX_DIGITS = 400
MAX_DEPTH = 100
#: Characters of a key in a path: a path repeats it for each value below.
_MAX_KEY = 200


class TooLargeError(ValueError):
    """A document that is too large to be read here; the kubelet may accept it."""


def again(error: ValueError, text: str) -> ValueError:
    """The same error with a prefix; `TooLargeError` stays as it is."""
    return error if isinstance(error, TooLargeError) else type(error)(text)


class Members(list[tuple[str, Any]]):
    """An object's members in order; keys may repeat."""

    def __repr__(self) -> str:
        return f"Members({super().__repr__()})"


class Real(str):
    """A number of JSON that is not written as a whole one."""

    __slots__ = ()


def kind_of(value: Any) -> str:
    """The kind in Go's terms."""
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float | Real):
        return "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Members | dict) else "array"


def parse_go_json(data: bytes) -> Any:
    """A JSON document; raises ``ValueError``, and ``TooLargeError`` for what is not read here.

    >>> parse_go_json(b'{"a": 1, "a": 2.0}')
    Members([('a', 1), ('a', '2.0')])
    """
    text = data.decode("utf-8", "replace")
    try:
        value = json.loads(text, object_pairs_hook=_members, parse_float=Real, parse_int=_whole, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise ValueError(_in_go(error)) from error
    except RecursionError as error:
        raise TooLargeError("too many levels") from error
    _refuse_depth(value)
    return value


#: What Python's reader says, and how Go's ends its sentence.
_SAID = {
    "Expecting value": "looking for beginning of value",
    "Expecting property name enclosed in double quotes": "looking for beginning of object key string",
    "Expecting ':' delimiter": "after object key",
    "Expecting ',' delimiter": "after object key:value pair",
    "Extra data": "after top-level value",
}


def _in_go(error: json.JSONDecodeError) -> str:
    if not error.doc[error.pos :].strip():
        return "unexpected end of JSON input"
    at = len(error.doc) - len(error.doc[error.pos :].lstrip())
    return f"invalid character {error.doc[at]!r} {_SAID.get(error.msg, error.msg)}"


def _refuse_depth(value: Any) -> None:
    level, depth = [value], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise TooLargeError(f"more than {MAX_DEPTH} levels")
        inner: list[Any] = []
        for each in level:
            if isinstance(each, Members):
                inner += [member for _, member in each if isinstance(member, list)]
            elif isinstance(each, list):
                inner += [member for member in each if isinstance(member, list)]
        level = inner


def _members(pairs: list[tuple[str, Any]]) -> Members:
    return Members(pairs)


def _whole(digits: str) -> int:
    return int(digits) if len(digits) < _MAX_DIGITS else (-1 if digits[0] == "-" else 1) << 2000


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"invalid character {word[0]!r} looking for beginning of value")


def twice(value: Any, path: str = "") -> list[str]:
    """Paths of the keys that are repeated in one object.

    >>> twice(Members([("a", Members([("b", 1), ("b", 2)]))]))
    ['a.b']
    """
    found: list[str] = []
    todo: list[tuple[str, Any]] = [(path, value)]
    while todo:
        at, each = todo.pop()
        if isinstance(each, Members):
            seen: set[str] = set()
            for key, member in each:
                where = f"{at}.{key[:_MAX_KEY]}" if at else key[:_MAX_KEY]
                if key in seen:
                    found.append(where)
                seen.add(key)
                todo.append((where, member))
        elif isinstance(each, list):
            todo += [(f"{at}[{number}]", member) for number, member in enumerate(each)]
    return found


def plain(value: Any) -> Any:
    """As plain dictionaries, the last of two equal keys winning; what is a whole number in effect is one."""
    if isinstance(value, Members):
        return {key: plain(member) for key, member in value}
    if isinstance(value, list):
        return [plain(member) for member in value]
    if isinstance(value, Real):
        number = float(value)
        return int(number) if abs(number) < 1e21 and number == int(number) else number
    return value


def merged(document: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """`document` with a JSON merge patch: null removes, maps merge, everything else replaces.

    >>> merged({"a": {"b": 1, "c": 2}, "d": [1]}, {"a": {"b": None, "e": {"f": None}}, "d": [None]})
    {'a': {'c': 2, 'e': {}}, 'd': [None]}
    """
    result = dict(document)
    for key, value in patch.items():
        current = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(current, dict) and isinstance(value, dict):
            result[key] = merged(current, value)
        else:
            # a list over a map is taken as it is; what replaces nothing or a plain value loses its nulls
            result[key] = value if isinstance(current, dict) else _without_nulls(value)
    return result


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    if isinstance(value, list):
        return [_without_nulls(member) for member in value]
    return value


def as_json(value: Any) -> str:
    """JSON that `parse_go_json` reads as the same.

    >>> as_json(Members([("a", Real("1.50")), ("a", [None, True, "x"])]))
    '{"a":1.50,"a":[null,true,"x"]}'
    """
    if isinstance(value, Members):
        return f"{{{','.join(f'{json.dumps(key)}:{as_json(member)}' for key, member in value)}}}"
    if isinstance(value, list):
        return f"[{','.join(map(as_json, value))}]"
    return str(value) if isinstance(value, Real) else json.dumps(value)
