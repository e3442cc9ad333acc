"""GRUB's menu: selects the entry that ``default`` names (grub-core/normal/menu.c; measured with grub-emu 2.06)."""

import re
from typing import NamedTuple

from hostagent.core.unread import Unread

_NUMBER = re.compile(r"[ \t]*(?:0[xX]([0-9a-fA-F]{1,8})|0([0-7]{0,10})|([1-9][0-9]{0,8}))")


class MenuEntry(NamedTuple):
    title: str
    id: str  # used by scripts and the environment block; the title if it has none
    kernel: str  # path of the kernel that it boots, "" if none is found
    entries: "tuple[MenuEntry, ...] | None" = None  # of a submenu
    certain: bool = True  # it is in the menu regardless of the firmware


def default_entry(entries: "tuple[MenuEntry, ...]", default: str, *, by_id_first: bool = False) -> "MenuEntry | Unread":
    """The entry that GRUB boots without a key press. A value that names none is the first entry; a submenu is its first entry.

    `by_id_first`: Fedora's GRUB treats a text that begins with digits as an id, GNU's as a number.

    >>> menu = (MenuEntry("A", "a", "k1"), MenuEntry("More", "more", "", (MenuEntry("B", "b", "k2"), MenuEntry("C", "c", "k3"))))
    >>> [default_entry(menu, default).kernel for default in ("1>1", "more>c", "More>gone", "gone", "", "1", "0x1>01")]
    ['k3', 'k3', 'k2', 'k1', 'k1', 'k2', 'k3']
    """
    for _ in range(20):
        head, rest = _split(default)
        at = _index(entries, default, head, by_id_first=by_id_first)
        if not entries:
            return Unread("error", "the boot loader's menu is empty")
        by_name = at is not None and _number(default) is None
        if at is None or at >= len(entries):
            at = 0
        if not all(one.certain for one in (entries[at : at + 1] if by_name else entries[: at + 1])):
            return Unread("error", f"which entry {default[:80]!r} is hangs on what only the firmware knows")
        entry = entries[at]
        if entry.entries is None:
            return entry
        entries, default = entry.entries, rest
    return Unread("error", "the boot loader's menus are nested too deep")


def _index(entries: "tuple[MenuEntry, ...]", default: str, head: str, *, by_id_first: bool) -> "int | None":
    number = _number(default)
    if number is not None and not by_id_first:
        return number
    named, titled = ([at for at, one in enumerate(entries) if head and head == text(one)] for text in (_id, _title))
    if by_id_first:
        return (*named, *titled, number if head.strip().isalnum() else None)[0]
    return min((*named, *titled), default=None)


def _id(entry: MenuEntry) -> str:
    return entry.id


def _title(entry: MenuEntry) -> str:
    return entry.title


def _number(text: str) -> "int | None":
    """As strtoul(3) reads the beginning of a text.

    >>> _number("1>2"), _number("5.15"), _number("0x1f"), _number("saved"), _number("")
    (1, 5, 31, None, None)
    """
    match = _NUMBER.match(text)
    if not match:
        return None
    return int(match[1], 16) if match[1] else int(match[2] or "0", 8) if match[3] is None else int(match[3])


def _split(default: str) -> tuple[str, str]:
    """Splits off the name of the entry in this menu from the rest, for its submenu. ">>" is an escaped ">" of a title.

    >>> _split("Advanced>gnulinux-6.8"), _split("a>>b"), _split("0")
    (('Advanced', 'gnulinux-6.8'), ('a>b', ''), ('0', ''))
    """
    match = re.match(r"((?:[^>]|>>)*)(?:>(.*))?$", default[:4096], re.DOTALL)
    return (match[1].replace(">>", ">"), match[2] or "") if match else ("", "")
