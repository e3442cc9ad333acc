"""apt's configuration (apt.conf(5)): automatic upgrades, and the packages excluded from them."""

import re
from collections.abc import Iterator, Mapping

from hostagent.core.parsing import at_most, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, need
from hostagent.domains.packages.read_version_locks import regex_glob
from hostagent.host.source import Source

_TOKEN = re.compile(r'//[^\n]*|/\*.*?(?:\*/|\Z)|#(?!clear\b|include\b)[^\n]*|(?P<word>"[^"\n]*"|[{};]|[^\s{};"]+)', re.DOTALL)
_DEEPEST = 32
#: Statements in one file (a host has some 200 in all); items of a list over all files, each of which is matched with every package.
_MOST_STATEMENTS, _MOST_ITEMS = 20_000, 1000
_PARTS = "/etc/apt/apt.conf.d"
_LISTS = ("unattended-upgrade::allowed-origins", "unattended-upgrade::origins-pattern")
_BLACKLIST = "unattended-upgrade::package-blacklist"
_SWITCH = "apt::periodic::unattended-upgrade"
_KEEP = Keep("apt.conf", (*_LISTS, _BLACKLIST, _SWITCH))

#: Keys in lower case; the values of a list in order, a single value as a list of one.
Settings = dict[str, list[str]]


def parse_apt_conf(text: str, into: "Settings | None" = None, names: "tuple[str, ...]" = ()) -> Settings:
    r"""Merges the settings of one file (only `names`, if any) into those of earlier files; raises ``ValueError``.

    >>> parse_apt_conf('APT::Periodic { Unattended-Upgrade "1"; };\nUnattended-Upgrade::Package-Blacklist { "nvidia-"; "cuda"; };')
    {'apt::periodic::unattended-upgrade': ['1'], 'unattended-upgrade::package-blacklist': ['nvidia-', 'cuda']}
    """
    settings: Settings = {} if into is None else into
    for scope, words in at_most(_MOST_STATEMENTS, "statements", statements(text)):
        _set(settings, scope, words, names)
    return settings


def statements(text: str) -> "Iterator[tuple[list[str], list[str]]]":
    """The words of each statement, with the names of the scopes around it; raises ``ValueError``."""
    scope: list[str] = []
    words: list[str] = []
    for word in (match["word"] for match in _TOKEN.finditer(text) if match["word"]):
        if word == "{":
            if len(scope) == _DEEPEST:
                raise ValueError(f"scopes nested more than {_DEEPEST} deep")
            scope.append(words[0] if words else "")
            words = []
        elif word in (";", "}"):
            if words:
                yield scope, words
            words = []
            if word == "}" and scope:
                scope.pop()
        else:
            words.append(word)


def _set(settings: Settings, scope: list[str], words: list[str], names: "tuple[str, ...]") -> None:
    if words[0] == "#clear":
        gone = "::".join([*scope, *words[1:2]]).lower().rstrip(":")
        for key in [key for key in settings if key == gone or key.startswith(gone + "::")]:
            del settings[key]
        return
    is_item = words[0].startswith('"') or words[0] == "::"  # of the list that the scope is
    if not is_item and len(words) == 1:
        return
    name = "::".join(scope if is_item else [*scope, words[0]]).lower()
    if not is_item and name.endswith("::"):
        is_item, name = True, name.rstrip(":")
    if names and name not in names:
        return
    values = settings.setdefault(name, []) if is_item else []
    if len(values) == _MOST_ITEMS:
        raise ValueError(f"found more than {_MOST_ITEMS} items of {name[:100]}")
    values.append(words[-1].strip('"'))
    settings[name] = values


def unattended(settings: "Mapping[str, list[str]]") -> tuple[bool, tuple[str, ...], tuple[str, ...]]:
    """Whether automatic upgrades are on, the excluded packages, and the allowed origins."""
    switch = settings.get(_SWITCH, ["0"])[-1].strip().lower()
    on = switch not in ("", "0", "false", "no", "off", "never")
    return (
        on,
        tuple(regex_glob(one) for one in settings.get(_BLACKLIST, ())),
        tuple(value for key in _LISTS for value in settings.get(key, ())),
    )


@stops_at_unread
def read_apt_settings(source: Source) -> "Settings | Unread":
    """apt.conf.d in order, then apt.conf, as apt reads them."""
    settings: Settings = {}
    for path in _paths(source):
        try:
            parse_apt_conf(need(source.text(path, keep=_KEEP, absent="")), settings, _KEEP.names)
        except ValueError as error:
            return Unread("error", f"{path}: {error}")
    return settings


def _paths(source: Source) -> Iterator[str]:
    for name in need(source.listdir(_PARTS, absent=())):
        if re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9_.-]*", name) and ("." not in name or name.endswith(".conf")):
            yield f"{_PARTS}/{name}"
    yield "/etc/apt/apt.conf"
