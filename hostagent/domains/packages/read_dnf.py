"""dnf's module streams and its automatic upgrades."""

import re
from collections.abc import Iterator

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.host.source import Source
from hostagent.host.values import paths_in

_MODULES = "/etc/dnf/modules.d"
_AUTOMATIC = "/etc/dnf/automatic.conf"
_TIMERS = "/etc/systemd/system/timers.target.wants"
#: Each exclude is matched with every package.
_MOST = 1000
_STREAM = Keep("settings", ("stream", "state"))
_UPGRADES = Keep("settings", ("apply_updates", "exclude", "excludepkgs"))


def parse_ini(text: str) -> "Iterator[tuple[str, dict[str, str]]]":
    r"""(section, options in lower case) of an INI file; other lines are ignored.

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


@stops_at_unread
def read_streams(source: Source) -> tuple[tuple[str, str], ...]:
    """The enabled streams, one file per module."""
    streams = []
    for path in paths_in(source, _MODULES):
        if path.endswith(".module"):
            rows = parse_ini(need(source.text(path, keep=_STREAM)))
            streams += [(module, one["stream"]) for module, one in rows if one.get("state") == "enabled" and one.get("stream")]
            if len(streams) > _MOST:
                raise UnreadError(Unread("error", f"{path}: found more than {_MOST} streams before it and with it"))
    return tuple(sorted(streams))


@stops_at_unread
def read_automatic(source: Source) -> tuple[bool, tuple[str, ...]]:
    """Whether dnf-automatic installs upgrades, and the excluded packages: its own excludes and dnf's."""
    timers = [name for name in need(source.listdir(_TIMERS, absent=())) if name.startswith(("dnf-automatic", "dnf5-automatic"))]
    settings = dict(parse_ini(need(source.text(_AUTOMATIC, keep=_UPGRADES, absent=""))))
    main = dict(parse_ini(need(source.text("/etc/dnf/dnf.conf", keep=_UPGRADES, absent="")))).get("main", {})
    applies = settings.get("commands", {}).get("apply_updates", "no").lower() in ("yes", "true", "1")
    on = any("-install" in name or (applies and not re.search("-(?:download|notifyonly)", name)) for name in timers)
    excludes = [options.get(key, "") for options in (main, settings.get("base", {})) for key in ("exclude", "excludepkgs")]
    words = [word for text in excludes for word in re.split(r"[\s,]+", text) if word]
    if len(words) > _MOST:
        raise UnreadError(Unread("error", f"{_AUTOMATIC}: found {len(words)} excludes, wanted at most {_MOST}"))
    return on, tuple(words)
