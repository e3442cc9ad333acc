"""History of earlier passes. A single pass has none; the daemon supplies its own instead."""

from collections.abc import Callable
from typing import Any

from hostagent.core.unread import Unread
from hostagent.facts.history import History
from hostagent.host.source import Source


def read_history(source: Source, known: Callable[[type], Any]) -> History:
    none = Unread("not-supported", "one pass has no history: the daemon keeps one")
    return History(none, none, none, none, none)
