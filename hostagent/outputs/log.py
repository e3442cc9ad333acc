"""The daemon's log on standard error: one line per event, for people and log collectors."""

import json
import time
from collections.abc import Callable
from typing import Any, Literal

from hostagent.core.escape import visible
from hostagent.engine.report.node_status import Transition
from hostagent.engine.report.times import iso

Format = Literal["text", "json"]
FORMATS: tuple[Format, ...] = ("text", "json")


class Log:
    """`put` takes one line. Text is ``key=value`` with quotes where a value needs them (logfmt), JSON one object a line.

    With `once` only warnings, as text like those of other commands: a person waits for one pass.
    """

    def __init__(self, form: str, put: Callable[[str], Any], *, once: bool = False) -> None:
        self._form, self._put, self._once = form, put, once

    def through(self, clean: Callable[[str], str]) -> "Log":
        """The same log with each line passed through `clean`."""
        put = self._put
        return Log(self._form, lambda line: put(clean(line)), once=self._once)

    def event(self, name: str, at: float = 0.0, **fields: Any) -> None:
        """`at`: seconds since the epoch, 0 for now. Fields that are "" are left out."""
        if self._once and name != "warning":
            return
        row = {"time": iso(at or time.time()), "event": name, **{key: value for key, value in fields.items() if value not in ("", ())}}
        self._put(json.dumps(row) if self._form == "json" else " ".join(f"{key}={_quoted(value)}" for key, value in row.items()))

    def problem(self, message: str) -> None:
        if self._once and self._form == "text":
            self._put(f"Warning: {message}")
        else:
            self.event("warning", message=message)

    def turned(self, one: Transition) -> None:
        """A transition, or the recovery that one to True is."""
        fields = {
            "condition": one.condition,
            "from": one.old or "none",
            "to": one.new or "none",
            "reason": one.reason,
            "message": one.message,
        }
        is_recovery = one.new == "True" and one.old in ("False", "Unknown")
        pci, uuid = ([getattr(device, name) for device in one.devices] for name in ("pci", "uuid"))
        devices = {"pci": pci, "uuid": uuid} if self._form == "json" else {"pci": ",".join(pci), "uuid": ",".join(filter(None, uuid))}
        self.event("recovery" if is_recovery else "transition", one.at, **fields, **(devices if pci else {}))


def _quoted(value: Any) -> str:
    r"""As a JSON string where it is no plain word.

    >>> _quoted("GpuXid"), _quoted("it's cold"), _quoted('a="b"'), _quoted(60.0)
    ('GpuXid', '"it\'s cold"', '"a=\\"b\\""', '60')
    """
    text = f"{value:g}" if isinstance(value, float) else str(value)
    is_plain = bool(text) and not any(character in '" =\\' or not character.isprintable() for character in text)
    return text if is_plain else json.dumps(visible(text), ensure_ascii=False)
