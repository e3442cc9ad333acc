"""Identity of the host: name, boot, clock, running kernel. One question."""

from collections.abc import Callable
from typing import Any

from hostagent.core.unread import Unread, then
from hostagent.facts.history import History
from hostagent.facts.host import Identity
from hostagent.host.source import Source


def read_identity(source: Source, known: Callable[[type], Any]) -> Identity:
    host = source.host()
    return Identity(
        hostname=_word(host, "hostname"),
        boot_id=_word(host, "boot_id"),
        now=then(host, _now),
        kernel=_word(host, "release"),
        simulated=then(host, lambda answer: bool(answer.get("simulated"))),
        as_root=then(host, lambda answer: answer.get("uid", 0) == 0),
    )


def _word(host: "dict[str, Any] | Unread", key: str) -> "str | Unread":
    if isinstance(host, Unread):
        return host
    value = host.get(key)
    if value in (None, ""):
        return Unread("not-running" if key == "boot_id" else "absent", f"the host does not say its {key}")
    return value if isinstance(value, str) else Unread("error", f"{key} is a {type(value).__name__}")


def _now(host: dict[str, Any]) -> "float | Unread":
    value = host.get("now")
    return float(value) if isinstance(value, int | float) else Unread("error", f"now is a {type(value).__name__}")


def read_history(source: Source, known: Callable[[type], Any]) -> History:
    none = Unread("not-supported", "one pass has no history: the daemon keeps one")
    return History(none, none, none, none, none, none)
