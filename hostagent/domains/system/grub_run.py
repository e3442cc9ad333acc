"""Evaluates grub.cfg: its menu and its default, with the environment block and conditions."""

# grub-emu boots each menu of tests/real/test_grub.py, with the same result as here. The order of blscfg, and that it takes
# ids before numbers, is Fedora's patch. A function that creates entries is not evaluated; fallback entries after a failed boot,
# LoaderEntryDefault of the firmware and extlinux are not read.

import re
from collections.abc import Mapping
from typing import NamedTuple

from hostagent.domains.system.grub_menu import MenuEntry
from hostagent.domains.system.grub_script import Statement, expanded

#: Feature variables of GRUB 2.00 and newer (grub-core/normal/main.c).
_FEATURES = ("menuentry_id", "menuentry_options", "timeout_style", "200_final", "all_video_module", "nativedisk_cmd", "default_font_path")
#: Variables that the firmware and the disks decide: unknown here.
_OPEN = ("root", "grub_platform", "grub_cpu", "cmdpath", "?", "boot_once_efi", "pxe_default_server", "net_default_ip", "shell", "lockdown")
_LOADS, _MODULES = ("linux", "linux16", "linuxefi"), ("module", "module2")
_DIRECTORY = "/boot/grub"
#: Options of an entry that have a value.
_OPTIONS = ("--class", "--id", "--users", "--hotkey", "--source")

Values = dict[str, "str | None"]


class BootFiles(NamedTuple):
    """Files on disk that a script uses."""

    environment: "Mapping[str, str]"  # of grubenv
    bls: tuple[MenuEntry, ...] = ()  # in blscfg's order
    custom: tuple[Statement, ...] = ()  # of custom.cfg in the same directory


class Menu(NamedTuple):
    entries: tuple[MenuEntry, ...]
    default: "str | None"  # None: it depends on something only GRUB knows
    reads_bls: bool  # by the command blscfg, which GRUBs with Fedora's patches have


def run(script: tuple[Statement, ...], files: BootFiles) -> Menu:
    """The menu that GRUB shows."""
    values: Values = dict.fromkeys(_OPEN)
    values |= {f"feature_{name}": "y" for name in _FEATURES}
    values |= {"prefix": _DIRECTORY, "config_directory": _DIRECTORY}
    runner = _Runner(files)
    runner.follow(script, values, certain=True)
    return Menu(tuple(runner.entries), values.get("default", ""), runner.reads_bls)


class _Runner:
    def __init__(self, files: BootFiles) -> None:
        self._files = files
        self.entries: list[MenuEntry] = []
        self.reads_bls = False

    def follow(self, script: tuple[Statement, ...], values: Values, *, certain: bool) -> None:
        for one in script:
            if one.choices:
                self._choose(one, values, certain=certain)
            else:
                self._do(one, values, certain=certain)

    def _choose(self, one: Statement, values: Values, *, certain: bool) -> None:
        """Evaluates the branch that the conditions select; if one is unknown, each branch that remains possible."""
        ways: list[Values] = []
        for condition, body in one.choices:
            holds = _holds(condition, values, self._files) if condition else True
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
            self.entries += [entry._replace(certain=certain and entry.certain) for entry in self._files.bls]
        elif first == "load_env":
            names = [word for word in rest if "/" not in word and not word.startswith("-")]
            values |= {name: value for name, value in self._files.environment.items() if not names or name in names}
        elif first in ("source", "configfile", ".") and rest and rest[0].endswith("/custom.cfg"):
            self.follow(self._files.custom, values, certain=certain)
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
        inner = _Runner(self._files)
        inner.follow(one.body, dict(values), certain=True)
        return MenuEntry(title, named or title, "", tuple(inner.entries), certain)


def _assign(words: tuple[str, ...], values: Values) -> None:
    for word in words[1:] if words[0] == "set" else words[:1]:
        name, sign, value = word.partition("=")
        if sign and re.fullmatch(r"\w+", name):
            values[name] = expanded(value, values)


def _kernel(body: tuple[Statement, ...], values: Values) -> str:
    """The first kernel that an entry loads, by any of the commands; Xen's Linux is a module."""
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


def _holds(condition: tuple[Statement, ...], values: Values, files: BootFiles) -> "bool | None":
    """The result of ``[ … ]``; None if it is unknown here, and for every other command."""
    words = condition[-1].words if condition else ()
    if words[:1] == ("[",) and words[-1] == "]":
        words = words[1:-1]
    elif words[:1] == ("test",):
        words = words[1:]
    else:
        return {"true": True, "false": False}.get(words[0] if words else "")
    return _any([_all([_term(term, values, files) for term in _parts(part, "-a")]) for part in _parts(words, "-o")])


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


def _term(words: tuple[str, ...], values: Values, files: BootFiles) -> "bool | None":
    if words[:1] == ("!",):
        inner = _term(words[1:], values, files)
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
            return bool(files.environment) if path.endswith("/grubenv") else bool(files.custom)
        case [left, "=" | "==", right]:
            return None if left is None or right is None else left == right
        case [left, "!=", right]:
            return None if left is None or right is None else left != right
    return None
