"""Texts of a runtime's files, from the facts."""

from collections.abc import Mapping
from typing import Any

from hostagent.core.unread import Unread, UnreadError, need
from hostagent.plan.view import View

NEW_FILE = 0o644


def text_of(view: View, path: str) -> "str | Unread":
    """The text, "" for a missing file, not-recorded for a snapshot, which has no whole file. Raises ``UnreadError`` for any other gap."""
    file = need(view.installation).file(path)
    text = file if isinstance(file, Unread) else file.text
    if not isinstance(text, Unread):
        return text
    if text.why == "absent":
        return ""
    if text.why == "not-recorded":
        return text
    raise UnreadError(text)


def mode_of(view: View, path: str) -> int:
    """The permissions of the file, or those for a new one."""
    file = need(view.installation).file(path)
    mode = file if isinstance(file, Unread) else file.mode
    return NEW_FILE if isinstance(mode, Unread) else mode


def parsed(text: str) -> dict[str, Any]:
    """TOML by the library that changes it, without its formatting; raises ``ValueError``."""
    import tomlkit

    return tomlkit.parse(text).unwrap()


def table(value: Any, *keys: str) -> Mapping[str, Any]:
    """The table at this place, {} where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, Mapping) else {}
