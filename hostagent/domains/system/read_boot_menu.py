"""GRUB's menu on this host: grub.cfg, the environment block and Boot Loader Specification entries."""

# /etc/default/grub counts only if no menu is written yet (an image). The reader drops all lines but those that decide before
# parsing, so that a host and its snapshot (no passwords, no kernel arguments) give the same result.

import functools
import re
from collections.abc import Iterator

from hostagent.core.answers import MIB
from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, need
from hostagent.domains.system.grub_menu import MenuEntry, default_entry
from hostagent.domains.system.grub_run import BootFiles, run
from hostagent.domains.system.grub_script import parse_grubcfg
from hostagent.facts.version import compare_rpm
from hostagent.host.source import Source
from hostagent.host.values import names_in

_DIRECTORIES = ("/boot/grub", "/boot/grub2")
_VENDORS = "/boot/efi/EFI"
#: Directories of Boot Loader Specification entries: GRUB's and systemd-boot's.
_ENTRIES = ("/boot/loader/entries", "/boot/efi/loader/entries", "/efi/loader/entries")
ENTRY = Keep("settings", ("title", "linux", "version", "efi", "uki"))
ENVIRONMENT = Keep(
    "settings",
    ("next_entry", "saved_entry", "prev_saved_entry", "prev_entry", "initrdfail", "boot_success", "boot_counter", "boot_indeterminate"),
)
_LOADER = Keep("settings", ("default",))
#: Lines that decide the menu: no passwords, no kernel arguments.
_LINE = (
    r"^[ \t]*(?:(?:set[ \t]+)?\w*(?:default|entry|grubenv|initrdfail|boot|menu|kernel|flavour)\w*=.*"
    r"|(?:if|elif|else|fi|then|for|while|until|do|done|function|menuentry|submenu|load_env|unset|blscfg|source|configfile"
    r"|increment|decrement)(?:[ \t;].*)?$|[{}].*"
    r"|(?:linux(?:16|efi)?|module2?)[ \t]+(?:--\S+[ \t]+)*\S+)"
)
_SCRIPT = Keep("matches", (_LINE,))


@stops_at_unread
def grub_entry(source: Source) -> "MenuEntry | None":
    """The entry that GRUB boots next; None if the host has no GRUB menu."""
    for directory in _directories(source):
        text = _script(need(source.text(f"{directory}/grub.cfg", 4 * MIB, keep=_SCRIPT, absent="")))
        if re.search(r"^[ \t]*(?:menuentry|submenu|blscfg)\b", text, re.MULTILINE):
            return _of_script(source, directory, text)
    return None


def _directories(source: Source) -> Iterator[str]:
    """Directories with a menu. The EFI partition, which only root may read, is tried last."""
    yield from _DIRECTORIES
    yield from (f"{_VENDORS}/{name}" for name in need(names_in(source, _VENDORS)))


def _script(text: str) -> str:
    """The lines of a script that decide the menu, so that a host and its snapshot give the same result."""
    return "".join(f"{match[0]}\n" for match in re.finditer(_LINE, text.replace("\\\n", " "), re.MULTILINE))


def _of_script(source: Source, directory: str, text: str) -> MenuEntry:
    custom = _script(need(source.text(f"{directory}/custom.cfg", keep=_SCRIPT, absent="")))
    try:
        scripts = parse_grubcfg(text), parse_grubcfg(custom)
    except ValueError as error:
        return need(Unread("error", f"{directory}/{error}"))
    entries = need(bls_entries(source)) if re.search(r"\bblscfg\b", text) else ()
    menu = run(scripts[0], BootFiles(need(environment(source, directory)), tuple(entries), scripts[1]))
    if menu.default is None:
        return need(Unread("error", f"{directory}/grub.cfg: which entry is the default hangs on what only the firmware knows"))
    return need(default_entry(menu.entries, menu.default, by_id_first=menu.reads_bls))


@stops_at_unread
def environment(source: Source, directory: str = "") -> dict[str, str]:
    """GRUB's environment block."""
    for place in (directory,) if directory else _DIRECTORIES:
        if text := need(source.text(f"{place}/grubenv", keep=ENVIRONMENT, absent="")):
            return parse_grubenv(text)
    return {}


def parse_grubenv(text: str) -> dict[str, str]:
    r"""
    The variables in GRUB's environment block that decide the entry; a backslash escapes the next character.

    >>> parse_grubenv("# GRUB Environment Block\nsaved_entry=4a0d-5.14.0-427.el9.x86_64\nboot_success=1\n####")
    {'saved_entry': '4a0d-5.14.0-427.el9.x86_64', 'boot_success': '1'}
    """
    rows = (line.partition("=") for line in text.split("\n") if "=" in line and not line.startswith("#"))
    return {name: re.sub(r"\\(.)", r"\1", value) for name, _, value in rows if name in ENVIRONMENT.names}


@stops_at_unread
def bls_entries(source: Source) -> list[MenuEntry]:
    """Boot Loader Specification entries in the order of blscfg: the newest file name first."""
    for directory in _ENTRIES:
        names = [name.removesuffix(".conf") for name in need(names_in(source, directory)) if name.endswith(".conf")]
        if names:
            newest = sorted(names, key=functools.cmp_to_key(compare_rpm), reverse=True)
            entries = [parse_entry(need(source.text(f"{directory}/{name}.conf", keep=ENTRY)), name) for name in newest]
            return [one for one in entries if one.kernel]
    return []


def parse_entry(text: str, name: str = "") -> MenuEntry:
    r"""
    A Boot Loader Specification entry; its file name is its id.

    >>> parse_entry("title Rocky Linux\nversion 5.14.0-427.13.1.el9_4.x86_64\nlinux /vmlinuz-5.14.0-427.13.1.el9_4.x86_64\n", "4a0d").kernel
    '/vmlinuz-5.14.0-427.13.1.el9_4.x86_64'
    """
    fields = {key: value.strip() for key, _, value in (line.strip().partition(" ") for line in text.replace("\t", " ").splitlines())}
    kernel = fields.get("linux") or fields.get("efi") or fields.get("uki", "")
    return MenuEntry(fields.get("title") or kernel, name, kernel)


@stops_at_unread
def loader_entry(source: Source) -> "MenuEntry | None":
    """The entry of systemd-boot, or of a GRUB without a grub.cfg yet: the default, else the newest."""
    entries = need(bls_entries(source))
    if not entries:
        return None
    values = need(environment(source))
    wanted = values.get("next_entry") or values.get("saved_entry", "")
    for path in ("/boot/loader/loader.conf", "/boot/efi/loader/loader.conf", "/efi/loader/loader.conf"):
        wanted = wanted or parse_loader(need(source.text(path, keep=_LOADER, absent="")))
    if "*" in wanted or "?" in wanted or wanted.endswith(".conf"):
        pattern = ".*".join(re.escape(part) for part in wanted.removesuffix(".conf").replace("?", "*").split("*"))
        return next((one for one in entries if re.fullmatch(pattern, one.id)), entries[0])
    return need(default_entry(tuple(entries), wanted, by_id_first=True))


def parse_loader(text: str) -> str:
    r"""
    The default of systemd-boot's loader.conf(5), "" without one; a value with @ is not a file name.

    >>> parse_loader("timeout 3\ndefault proxmox-*.conf\n"), parse_loader("default @saved\n")
    ('proxmox-*.conf', '')
    """
    words = (line.split() for line in text.splitlines())
    found = next((one[1] for one in words if len(one) == 2 and one[0] == "default"), "")
    return "" if found.startswith("@") else found[:200]
