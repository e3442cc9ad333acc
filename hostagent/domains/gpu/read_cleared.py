"""Faults of this boot that an administrator has cleared: ``hostagent events clear`` writes the file, every pass reads it."""

import json
from typing import Any

from hostagent.core.escape import visible
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_THERE, Unread
from hostagent.facts.gpu import Clearing
from hostagent.host.source import MAX_TIME, Source

PATH = "/run/hostagent/cleared.json"
SCHEMA_VERSION = 1
#: Limits of the number of entries and of a reason's length.
MOST, REASON_CHARACTERS = 64, 200
#: Enough for `MOST` entries with white space.
_LIMIT = 64 * 1024
_KEEP = Keep("json", ("schema_version#", "boot_id", "cleared/subject", "cleared/upto#", "cleared/at#", "cleared/reason"))
_PLACES = ("/run", "/run/hostagent", PATH)
_OTHERS_WRITE = 0o022

Cleared = tuple[Clearing, ...]


def read_cleared(source: Source, boot_id: "str | Unread") -> "Cleared | Unread":
    """Clearings of this boot, the oldest first."""
    data = source.read(PATH, _LIMIT, keep=_KEEP)
    if isinstance(data, Unread):
        # A recording without the question predates clearing; without a clearing every fault counts.
        return () if data.why in (*NOT_THERE, "not-recorded") else data
    for place in _PLACES:
        found = source.stat(place)
        if isinstance(found, Unread):
            return found
        if found.uid != 0 or found.mode & _OTHERS_WRITE:
            return Unread("denied", f"{PATH} is not believed: others than root may change {place}")
    if isinstance(boot_id, Unread):
        return boot_id
    file = parse_cleared(data.decode("utf-8", "replace"))
    if isinstance(file, Unread):
        return file
    return file[1] if file[0] == boot_id else ()


def parse_cleared(text: str) -> "tuple[str, Cleared] | Unread":
    """The boot id and the clearings in the file.

    >>> parse_cleared('{"schema_version": 1, "boot_id": "b", "cleared": [{"subject": "", "upto": 5, "at": 9.5, "reason": "tested"}]}')
    ('b', (Clearing(subject='', upto=5.0, at=9.5, reason='tested'),))
    >>> parse_cleared("{}")
    Unread('error', '/run/hostagent/cleared.json: its schema_version is None, wanted 1')
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return Unread("error", f"{PATH} is no JSON")
    version = data.get("schema_version") if isinstance(data, dict) else None
    if version != SCHEMA_VERSION:
        return Unread("error", f"{PATH}: its schema_version is {version!r:.40}, wanted {SCHEMA_VERSION}")
    rows = data.get("cleared")
    clearings = [_clearing(row) for row in rows] if isinstance(rows, list) and len(rows) <= MOST else [None]
    if None in clearings or not isinstance(data.get("boot_id"), str):
        return Unread("error", f"{PATH} has another shape than 'hostagent events clear' writes")
    return data["boot_id"], tuple(sorted((one for one in clearings if one is not None), key=lambda one: one.at))


def _clearing(row: Any) -> "Clearing | None":
    match row:
        case {"subject": str(subject), "upto": int() | float() as upto, "at": int() | float() as at, "reason": str(reason)}:
            if all(not isinstance(one, bool) and 0 <= one < MAX_TIME for one in (upto, at)):
                return Clearing(visible(subject[:64]), float(upto), float(at), visible(reason[:REASON_CHARACTERS]))
    return None
