"""JSON documents that validate against their schemas: report, topology, plan, explanation of a log, settings of a job."""

import contextlib
import json
import math
from typing import Any

from hostagent.core.typed import plain

#: Part of the escape of half a surrogate pair, and of a whole pair.
_HALVES = "\\ud"


def render_json(document: Any, indent: int | None = 2) -> str:
    """ASCII, independent of terminal and locale; keys in the order of the schema. Without `indent` it is one line."""
    data = plain(document)
    separators = (",", ":") if indent is None else None
    with contextlib.suppress(ValueError):  # NaN, infinity
        text = json.dumps(data, indent=indent, separators=separators, allow_nan=False)
        if _HALVES not in text:
            return f"{text}\n"
    return json.dumps(_lawful(data), indent=indent, separators=separators, allow_nan=False) + "\n"


def _lawful(value: Any) -> Any:
    """JSON has no NaN and no infinity, and readers refuse half of a surrogate pair."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, dict):
        return {_lawful(key): _lawful(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_lawful(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return {"unread": "error", "detail": f"found {value}, wanted a number"}
    return value
