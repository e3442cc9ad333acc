"""dnf's module streams and its automatic upgrades."""

import re
from collections.abc import Iterator

from hostagent.facts.unread import Unread, UnreadError, need
from hostagent.source import Source

_MODULES = "/etc/dnf/modules.d"
_AUTOMATIC = "/etc/dnf/automatic.conf"
_TIMERS = "/etc/systemd/system/timers.target.wants"


def parse_ini(text: str) -> "Iterator[tuple[str, dict[str, str]]]":
    r"""(section, options in lower case) of an INI file; lines of another form are passed over.

    >>> list(parse_ini("[nvidia-driver]\nname=nvidia-driver\nstream = 580-open\nstate=enabled\n"))
    [('nvidia-driver', {'name': 'nvidia-driver', 'stream': '580-open', 'state': 'enabled'})]
    """
    section, options = "", dict[str, str]()
    for line in text.splitlines():
        if head := re.match(r"\s*\[([^]]*)\]", line):
            if section:
                yield section, options
            section, options = head[1].strip(), {}
        elif "=" in line and not line.lstrip().startswith(("#", ";")):
            key, _, value = line.partition("=")
            options[key.strip().lower()] = value.strip()
    if section:
        yield section, options


def read_streams(source: Source) -> "tuple[tuple[str, str], ...] | Unread":
    """The enabled streams, one file a module."""
    names = source.listdir(_MODULES)
    if isinstance(names, Unread):
        return () if names.why == "absent" else names
    streams = []
    for name in names:
        if not name.endswith(".module"):
            continue
        text = source.text(f"{_MODULES}/{name}")
        if isinstance(text, Unread):
            return text
        streams += [(module, one["stream"]) for module, one in parse_ini(text) if one.get("state") == "enabled" and one.get("stream")]
    return tuple(sorted(streams))


def read_automatic(source: Source) -> "tuple[bool, tuple[str, ...]] | Unread":
    """Whether dnf-automatic installs what it finds, and what it leaves alone: its own excludes and dnf's."""
    try:
        timers = [name for name in _names(source, _TIMERS) if name.startswith(("dnf-automatic", "dnf5-automatic"))]
        settings = dict(parse_ini(_text(source, _AUTOMATIC)))
        main = dict(parse_ini(_text(source, "/etc/dnf/dnf.conf"))).get("main", {})
    except UnreadError as error:
        return error.unread
    applies = settings.get("commands", {}).get("apply_updates", "no").lower() in ("yes", "true", "1")
    on = any("-install" in name or (applies and not re.search("-(?:download|notifyonly)", name)) for name in timers)
    excludes = [options.get(key, "") for options in (main, settings.get("base", {})) for key in ("exclude", "excludepkgs")]
    return on, tuple(word for text in excludes for word in re.split(r"[\s,]+", text) if word)


def _names(source: Source, directory: str) -> tuple[str, ...]:
    names = source.listdir(directory)
    return () if isinstance(names, Unread) and names.why == "absent" else need(names)


def _text(source: Source, path: str) -> str:
    text = source.text(path)
    return "" if isinstance(text, Unread) and text.why == "absent" else need(text)
