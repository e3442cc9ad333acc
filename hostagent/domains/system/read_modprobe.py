"""modprobe's configuration: the directories and file order of modprobe.d(5)."""

# Debian's `nvidia-current*` are resolved from alias and install lines with modules.dep, and have options under that name. A name
# without a file is no module.

import re
from collections.abc import Iterable
from typing import NamedTuple

from hostagent.core.answers import MIB
from hostagent.core.parsing import at_most, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.host.source import Source
from hostagent.host.values import names_in

#: A file in an earlier directory hides one of the same name in a later one.
DIRECTORIES = ("/etc/modprobe.d", "/run/modprobe.d", "/usr/local/lib/modprobe.d", "/usr/lib/modprobe.d", "/lib/modprobe.d")
#: Parameters of the kernel command line that block modules.
MODULE_BLACKLISTS = ("modprobe.blacklist", "module_blacklist", "rd.driver.blacklist", "rdblacklist")
#: The module has some hundred.
_MOST_OPTIONS, _MOST_CHARACTERS = 1000, MIB
_NEVER_LOADED = re.compile(
    r"^[ \t]*(?:blacklist[ \t]+nouveau|alias[ \t]+nouveau[ \t]+off|install[ \t]+nouveau[ \t]+\S*(?:true|false))\b", re.MULTILINE
)
#: Not on a continuation line.
_KEEP = Keep(
    "matches",
    (
        _NEVER_LOADED.pattern,
        (
            r"(?<!\\\n)^(?:[ \t]|\\\n)*options(?:[ \t]|\\\n)+nvidia(?:[-_](?:current|tesla|legacy)[-\w]*)?(?=[ \t]|\\\n)"
            r"(?:\\\n|[^\n#]|(?<=\S)#)*"
        ),
        r"(?<!\\\n)^[ \t]*(?:alias|install)[ \t]+nvidia[-\w]*[ \t][^\n]*",
    ),
)
#: An ``install`` line of modprobe.d(5) that loads a module, and one that blocks it.
_MODPROBE = re.compile(r"(?:^|[/\s;&|])modprobe((?:[ \t]+-\S+)*)[ \t]+([\w-]+)")
_KEEPS_OUT = re.compile(r"(?:/\S*/)?(?:true|false|:)\b")
_LONGEST_CHAIN = 8


class ConfigFile(NamedTuple):
    path: str
    text: str


@stops_at_unread
def read_modprobe(source: Source) -> tuple[ConfigFile, ...]:
    """Every file in force that names nvidia or nouveau; unread as a whole if one cannot be read, since it may hold any setting."""
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


def options_of(files: "Iterable[ConfigFile]", *modules: str) -> "tuple[tuple[str, str], ...] | Unread":
    """The options of these modules in all files, in file order."""
    found = (one for file in files for module in modules for one in parse_options(file.text, module))
    try:
        return tuple(at_most(_MOST_OPTIONS, f"options of {modules[0]}", found))
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
    The ``options`` of one module ("-" and "_" are equal in its name); raises ``ValueError``.

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


def parse_rules(text: str) -> tuple[tuple[str, str, str], ...]:
    r"""
    The rules of a modprobe.d file for nvidia's names: (alias or install, name, module or command).

    >>> parse_rules("install nvidia modprobe -i nvidia-current $CMDLINE_OPTS\nalias nvidia_uvm nvidia-current-uvm\n")
    (('install', 'nvidia', 'modprobe -i nvidia-current $CMDLINE_OPTS'), ('alias', 'nvidia-uvm', 'nvidia-current-uvm'))
    """
    words = (line.split(None, 2) for line in text.replace("\\\n", " ").splitlines())
    return tuple((one[0], one[1].replace("_", "-"), one[2].strip()) for one in words if len(one) == 3 and one[0] in ("alias", "install"))


def module_behind(files: "tuple[ConfigFile, ...]", name: str) -> "str | Unread":
    """
    The module that modprobe loads for `name`, "" if it is configured to load none.

    >>> file = ConfigFile("/etc/modprobe.d/nvidia.conf", "install nvidia modprobe -i nvidia-current $CMDLINE_OPTS")
    >>> module_behind((file,), "nvidia"), module_behind((), "nvidia")
    ('nvidia-current', 'nvidia')
    >>> module_behind((ConfigFile("a", "install nvidia /bin/false"),), "nvidia")
    ''
    """
    aliases: dict[str, str] = {}
    commands: dict[str, str] = {}
    for file in files:
        for kind, called, value in parse_rules(file.text):
            (aliases if kind == "alias" else commands).setdefault(called, value.replace("_", "-") if kind == "alias" else value)
    for _ in range(_LONGEST_CHAIN):
        name = aliases.get(name, name)  # an alias of an alias is none
        if name not in commands:
            return "" if name == "off" else name
        calls = _MODPROBE.findall(commands[name])
        direct = next((called for options, called in calls if re.search(r"\s(?:-i|--ignore-install)\b", options)), "")
        if direct:
            return aliases.get(direct, direct)
        if not calls:
            refused = Unread("error", f"modprobe.d: 'install {name}' runs {commands[name][:80]!r}")
            return "" if _KEEPS_OUT.match(commands[name]) else refused
        name = calls[0][1].replace("_", "-")
    return ""
