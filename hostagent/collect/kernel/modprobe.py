"""modprobe's configuration: the directories and file order of modprobe.d(5)."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from hostagent.collect.values import at_most, names_in, stops_at_unread
from hostagent.facts.unread import Unread, UnreadError, need
from hostagent.source import Source
from hostagent.source.base import MIB
from hostagent.source.keep import Keep

#: A file in an earlier directory hides one of the same name in a later one.
DIRECTORIES = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
#: Words of the kernel command line that keep modules out.
MODULE_BLACKLISTS = ("modprobe.blacklist", "module_blacklist", "rd.driver.blacklist", "rdblacklist")
#: The module has some hundred.
_MOST_OPTIONS, _MOST_CHARACTERS = 1000, MIB
_NEVER_LOADED = re.compile(
    r"^[ \t]*(?:blacklist[ \t]+nouveau|alias[ \t]+nouveau[ \t]+off|install[ \t]+nouveau[ \t]+\S*(?:true|false))\b", re.MULTILINE
)
#: Not on a line that goes on from the one before.
_KEEP = Keep(
    "matches", (_NEVER_LOADED.pattern, r"(?<!\\\n)^(?:[ \t]|\\\n)*options(?:[ \t]|\\\n)+nvidia(?=[ \t]|\\\n)(?:\\\n|[^\n#]|(?<=\S)#)*")
)


class ConfigFile(NamedTuple):
    path: str
    text: str


@stops_at_unread
def read_modprobe(source: Source) -> tuple[ConfigFile, ...]:
    """Every file in force that names nvidia or nouveau. One that cannot be read makes the whole unread: it may say anything."""
    chosen: dict[str, str] = {}
    for directory in DIRECTORIES:
        for name in need(names_in(source, directory)):
            if name.endswith(".conf"):
                chosen.setdefault(name, f"{directory}/{name}")
    files: list[ConfigFile] = []
    size = 0
    for name in sorted(chosen):
        text = need(source.text(chosen[name], keep=_KEEP, absent=""))  # a dangling link is no file to modprobe either
        size += len(text)
        if size > _MOST_CHARACTERS:
            raise UnreadError(Unread("error", f"{chosen[name]}: more than {_MOST_CHARACTERS} characters before it and with it"))
        if "nvidia" in text or "nouveau" in text:
            files.append(ConfigFile(chosen[name], text))
    return tuple(files)


def options_of(files: "Iterable[ConfigFile]", module: str) -> "tuple[tuple[str, str], ...] | Unread":
    """The options of one module in all files, in their order."""
    try:
        return tuple(at_most(_MOST_OPTIONS, f"options of {module}", (one for file in files for one in parse_options(file.text, module))))
    except ValueError as error:
        return Unread("error", f"{DIRECTORIES[0]}: {error}")


def blacklists_nouveau(text: str) -> bool:
    r"""
    Whether a modprobe.d file keeps nouveau from being loaded.

    >>> blacklists_nouveau("blacklist nouveau\noptions nouveau modeset=0\n"), blacklists_nouveau("# blacklist nouveau\n")
    (True, False)
    """
    return bool(_NEVER_LOADED.search(text))


def cmdline_blacklists_nouveau(cmdline: str) -> bool:
    """
    Whether the kernel command line keeps nouveau from being loaded.

    >>> cmdline_blacklists_nouveau("ro quiet rd.driver.blacklist=nouveau,nova_core modprobe.blacklist=nouveau,nova_core")
    True
    >>> cmdline_blacklists_nouveau("ro quiet nouveau.config=NvGspRm=1")
    False
    """
    words = [word.partition("=") for word in cmdline.split()]
    return any(key in MODULE_BLACKLISTS and "nouveau" in value.split(",") for key, _, value in words)


def parse_options(text: str, module: str) -> tuple[tuple[str, str], ...]:
    r"""
    The ``options`` of one module; raises ``ValueError``.

    >>> parse_options("options nvidia NVreg_EnableGpuFirmware=0 NVreg_TemporaryFilePath=/var\noptions nvidia-drm modeset=1", "nvidia")
    (('NVreg_EnableGpuFirmware', '0'), ('NVreg_TemporaryFilePath', '/var'))
    """
    found: list[tuple[str, str]] = []
    for line in text.replace("\\\n", " ").split("\n"):
        words = line.split()
        if len(words) > 2 and words[0] == "options" and words[1].replace("-", "_") == module.replace("-", "_"):
            for word in words[2 : _MOST_OPTIONS + 3]:
                if word.startswith("#"):
                    break
                name, _, value = word.partition("=")
                found.append((name, value))
                if len(found) > _MOST_OPTIONS:
                    raise ValueError(f"found more than {_MOST_OPTIONS} options of {module}")
    return tuple(found)
