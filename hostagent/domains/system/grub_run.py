"""What a grub.cfg comes to: its menu and its default, after the environment block and the conditions in it."""

# grub-emu boots each menu of tests/real/test_grub.py, and the same kernel is named here. The order of blscfg, and that it takes
# ids before numbers, is Fedora's patch. A function that makes entries is not followed; fallback entries after a failed boot,
# LoaderEntryDefault of the firmware and extlinux are not read.

import re
from collections.abc import Mapping
from typing import NamedTuple

from hostagent.domains.system.grub_menu import MenuEntry
from hostagent.domains.system.grub_script import Statement, expanded

#: What GRUB 2.00 and newer say of themselves (grub-core/normal/main.c).
_FEATURES = ("menuentry_id", "menuentry_options", "timeout_style", "200_final", "all_video_module", "nativedisk_cmd", "default_font_path")
#: What the firmware and the disks decide.
_OPEN = ("root", "grub_platform", "grub_cpu", "cmdpath", "?", "boot_once_efi", "pxe_default_server", "net_default_ip", "shell", "lockdown")
_LOADS, _MODULES = ("linux", "linux16", "linuxefi"), ("module", "module2")
_DIRECTORY = "/boot/grub"
#: Options of an entry that have a value.
_OPTIONS = ("--class", "--id", "--users", "--hotkey", "--source")

Values = dict[str, "str | None"]


class Given(NamedTuple):
    """What a script finds on the disk."""

    environment: "Mapping[str, str]"  # of grubenv
    bls: tuple[MenuEntry, ...] = ()  # in blscfg's order
    custom: tuple[Statement, ...] = ()  # of custom.cfg in the same directory


class Menu(NamedTuple):
    entries: tuple[MenuEntry, ...]
    default: "str | None"  # None: it hangs on what only GRUB knows
    reads_bls: bool  # by the command blscfg, which GRUBs with Fedora's patches have


def run(script: tuple[Statement, ...], given: Given) -> Menu:
    """The menu that GRUB shows."""
    values: Values = dict.fromkeys(_OPEN)
    values |= {f"feature_{name}": "y" for name in _FEATURES}
    values |= {"prefix": _DIRECTORY, "config_directory": _DIRECTORY}
    runner = _Runner(given)
    runner.follow(script, values, certain=True)
    return Menu(tuple(runner.entries), values.get("default", ""), runner.reads_bls)


class _Runner:
    def __init__(self, given: Given) -> None:
        self._given = given
        self.entries: list[MenuEntry] = []
        self.reads_bls = False

    def follow(self, script: tuple[Statement, ...], values: Values, *, certain: bool) -> None:
        for one in script:
            if one.choices:
                self._choose(one, values, certain=certain)
            else:
                self._do(one, values, certain=certain)

    def _choose(self, one: Statement, values: Values, *, certain: bool) -> None:
        """The way that the conditions say; where one is open, each way that is left."""
        ways: list[Values] = []
        for condition, body in one.choices:
            holds = _holds(condition, values, self._given) if condition else True
            if holds is not False:
                way = dict(values)
                self.follow(body, way, certain=certain and holds is True and not ways)
                ways.append(way)
            if holds is True:
                break
        else:
            ways.append(dict(values))
        first = ways[0]
        names = {name for way in ways for name in way}
        values |= {name: first.get(name, "") if all(way.get(name, "") == first.get(name, "") for way in ways) else None for name in names}

    def _do(self, one: Statement, values: Values, *, certain: bool) -> None:
        first, *rest = one.words
        if first in ("menuentry", "submenu"):
            self.entries.append(self._entry(one, values, certain=certain))
        elif first == "blscfg":
            self.reads_bls = True
            self.entries += [entry._replace(certain=certain and entry.certain) for entry in self._given.bls]
        elif first == "load_env":
            names = [word for word in rest if "/" not in word and not word.startswith("-")]
            values |= {name: value for name, value in self._given.environment.items() if not names or name in names}
        elif first in ("source", "configfile", ".") and rest and rest[0].endswith("/custom.cfg"):
            self.follow(self._given.custom, values, certain=certain)
        elif first == "unset":
            for name in rest:
                values.pop(name, None)
        elif first in ("increment", "decrement"):
            values |= dict.fromkeys(rest)
        else:
            _assign(one.words, values)

    def _entry(self, one: Statement, values: Values, *, certain: bool) -> MenuEntry:
        words = [expanded(word, values, "") or "" for word in one.words[1:]]
        words = [part for word in words for part in (word.split("=", 1) if word.startswith("--id=") else [word])]
        pairs = tuple(zip(("", *words), words, strict=False))
        title = next((word for before, word in pairs if not word.startswith("-") and before not in _OPTIONS), "")
        named = next((word for before, word in pairs if before == "--id"), "")
        if one.words[0] == "menuentry":
            return MenuEntry(title, named or title, _kernel(one.body, dict(values)), None, certain)
        inner = _Runner(self._given)
        inner.follow(one.body, dict(values), certain=True)
        return MenuEntry(title, named or title, "", tuple(inner.entries), certain)


def _assign(words: tuple[str, ...], values: Values) -> None:
    for word in words[1:] if words[0] == "set" else words[:1]:
        name, sign, value = word.partition("=")
        if sign and re.fullmatch(r"\w+", name):
            values[name] = expanded(value, values)


def _kernel(body: tuple[Statement, ...], values: Values) -> str:
    """The first kernel that an entry loads, by whatever way; Xen's Linux is a module."""
    for one in body:
        first, *rest = one.words
        for _, inner in one.choices:
            if path := _kernel(inner, values):
                return path
        if rest and (first in _LOADS or (first in _MODULES and "vmlinu" in rest[0])):
            arguments = [word for word in rest if not word.startswith("--")]
            return expanded(arguments[0], values, "") or "" if arguments else ""
        _assign(one.words, values)
    return ""


def _holds(condition: tuple[Statement, ...], values: Values, given: Given) -> "bool | None":
    """What ``[ … ]`` says; None for what it cannot say here, and for every other command."""
    words = condition[-1].words if condition else ()
    if words[:1] == ("[",) and words[-1] == "]":
        words = words[1:-1]
    elif words[:1] == ("test",):
        words = words[1:]
    else:
        return {"true": True, "false": False}.get(words[0] if words else "")
    return _any([_all([_term(term, values, given) for term in _parts(part, "-a")]) for part in _parts(words, "-o")])


def _parts(words: tuple[str, ...], at: str) -> list[tuple[str, ...]]:
    found: list[list[str]] = [[]]
    for word in words:
        if word == at:
            found.append([])
        else:
            found[-1].append(word)
    return [tuple(part) for part in found]


def _any(terms: "list[bool | None]") -> "bool | None":
    return True if True in terms else None if None in terms else False


def _all(terms: "list[bool | None]") -> "bool | None":
    return False if False in terms else None if None in terms else True


def _term(words: tuple[str, ...], values: Values, given: Given) -> "bool | None":
    if words[:1] == ("!",):
        inner = _term(words[1:], values, given)
        return None if inner is None else not inner
    texts = [expanded(word, values) for word in words]
    match texts:
        case []:
            return False
        case ["-n", value] | [value]:
            return None if value is None else bool(value)
        case ["-z", value]:
            return None if value is None else not value
        case ["-s" | "-f" | "-e", str(path)] if path.endswith(("/grubenv", "/custom.cfg")):
            return bool(given.environment) if path.endswith("/grubenv") else bool(given.custom)
        case [left, "=" | "==", right]:
            return None if left is None or right is None else left == right
        case [left, "!=", right]:
            return None if left is None or right is None else left != right
    return None
