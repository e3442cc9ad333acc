"""Parts of an untrusted Kubernetes object: a part of another type counts as empty."""

import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

_EMPTY: Mapping[str, Any] = {}


def text(whole: Mapping[str, Any], key: str) -> str:
    """A text, "" for anything else."""
    value = whole.get(key)
    return value if isinstance(value, str) else ""


def part(whole: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object."""
    value = whole.get(key)
    return value if isinstance(value, dict) else _EMPTY


def rows(whole: Mapping[str, Any], key: str) -> Iterator[Mapping[str, Any]]:
    """The objects of a list."""
    value = whole.get(key)
    return (one for one in value if isinstance(one, dict)) if isinstance(value, list) else iter(())


def texts(whole: Mapping[str, Any], key: str) -> dict[str, str]:
    """Labels or annotations: what is no text is no label."""
    return {name: one for name, one in part(whole, key).items() if isinstance(one, str)}


def moment(written: Any) -> float:
    """Of RFC 3339, as Kubernetes writes times, in seconds since 1970. Raises ``ValueError`` for anything else.

    >>> moment("2025-11-24T16:00:00Z"), moment("2025-11-24T17:00:00.25+01:00")
    (1764000000.0, 1764000000.0)
    """
    whole = re.sub(r"\.[0-9]+", "", str(written)[:64])
    return datetime.strptime(whole, "%Y-%m-%dT%H:%M:%S%z").timestamp()
