"""Which kernel the next boot takes: Boot Loader Specification entries, GRUB's environment and defaults, else the newest."""

import re
from collections.abc import Iterable

from hostagent.facts.unread import Unread, then
from hostagent.facts.version import compare_deb
from hostagent.source import Source
from hostagent.source.keep import Keep

_ENVIRONMENTS = ("/boot/grub2/grubenv", "/boot/grub/grubenv")
_ENTRIES = "/boot/loader/entries"
#: As the shell reads it that GRUB's settings are written for: in quotes, or one word.
_DEFAULT = re.compile(r"^[ \t]*GRUB_DEFAULT=(?:\"(?P<double>[^\"\n]*)|'(?P<single>[^'\n]*)|(?P<word>[^\s\"';&|]*))", re.MULTILINE)
_ENTRY, _DEFAULTS = Keep("settings", ("linux", "version")), Keep("matches", (_DEFAULT.pattern,))
_SAVED = Keep("settings", ("next_entry", "saved_entry"))


def newest_first(releases: Iterable[str]) -> list[str]:
    """
    Kernel releases in package version order.

    >>> newest_first(["6.8.0-9-generic", "6.8.0-45-generic", "5.15.0-119-generic"])
    ['6.8.0-45-generic', '6.8.0-9-generic', '5.15.0-119-generic']
    """
    import functools

    return sorted(releases, key=functools.cmp_to_key(compare_deb), reverse=True)


def next_release(source: Source, installed: "tuple[str, ...] | Unread") -> "str | Unread":
    """The release the next boot takes. Only kernels with a modules directory count: one without cannot load a driver."""
    if isinstance(installed, Unread):
        return installed
    if not installed:
        return Unread("absent", "no kernel below /lib/modules")
    chosen = _chosen(source)
    if isinstance(chosen, Unread):
        return chosen
    return chosen or _with_image(source, newest_first(installed))


def _chosen(source: Source) -> "str | Unread":
    """The release that the boot loader's settings name, "" when they leave it to the order of versions."""
    entries = source.listdir(_ENTRIES)
    names = [] if isinstance(entries, Unread) else [name for name in entries if name.endswith(".conf")]
    if not names and isinstance(entries, Unread) and entries.why == "denied":
        return entries
    default = _grub_default(source)
    if not names:
        if isinstance(default, Unread):
            return default
        if default != "saved":
            return _release_of_title(default) if default else ""
    saved = _saved_entry(source)
    if isinstance(saved, Unread) or not saved:
        return saved
    if f"{saved}.conf" in names:
        return then(source.text(f"{_ENTRIES}/{saved}.conf", keep=_ENTRY), parse_entry)
    return _release_of_title(saved)


def parse_entry(text: str) -> str:
    r"""
    The kernel release of a Boot Loader Specification entry, "" when it names none.

    >>> parse_entry("title Rocky Linux\nversion 5.14.0-427.13.1.el9_4.x86_64\nlinux /vmlinuz-5.14.0-427.13.1.el9_4.x86_64\n")
    '5.14.0-427.13.1.el9_4.x86_64'
    """
    fields = dict(line.split(maxsplit=1) for line in text.splitlines() if len(line.split(maxsplit=1)) == 2)
    image = fields.get("linux", "").rpartition("/")[2]
    return fields.get("version", "").strip() or (image.partition("-")[2] if image.startswith("vmlinuz-") else "")


def _grub_default(source: Source) -> "str | Unread":
    """GRUB_DEFAULT of Debian's and SUSE's settings: "" for the first entry, which is the newest kernel's."""
    names = source.listdir("/etc/default/grub.d")
    drop_ins = () if isinstance(names, Unread) else tuple(f"/etc/default/grub.d/{name}" for name in names if name.endswith(".cfg"))
    value = ""
    for path in ("/etc/default/grub", *drop_ins):
        text = source.text(path, keep=_DEFAULTS, absent="")
        if isinstance(text, Unread):
            return text
        for match in _DEFAULT.finditer(text):
            value = (match["double"] or match["single"] or match["word"] or "").strip()
    return "" if value == "0" else value


def _saved_entry(source: Source) -> "str | Unread":
    for path in _ENVIRONMENTS:
        text = source.text(path, keep=_SAVED)
        if not isinstance(text, Unread) or text.why != "absent":
            return then(text, parse_grubenv)
    return ""


def parse_grubenv(text: str) -> str:
    r"""
    The entry that GRUB's environment block chooses for the next boot, "" when it chooses none.

    >>> parse_grubenv("# GRUB Environment Block\nsaved_entry=4a0d-5.14.0-427.el9.x86_64\nboot_success=1\n####")
    '4a0d-5.14.0-427.el9.x86_64'
    """
    found = dict(line.partition("=")[::2] for line in text.splitlines() if "=" in line and not line.startswith("#"))
    return found.get("next_entry") or found.get("saved_entry", "")


def _release_of_title(title: str) -> "str | Unread":
    """The release in a GRUB menu title or entry id; a bare position cannot be resolved without grub.cfg.

    >>> _release_of_title("Advanced options for Ubuntu>Ubuntu, with Linux 5.15.0-119-generic")
    '5.15.0-119-generic'
    >>> _release_of_title("gnulinux-advanced-0b5c>gnulinux-6.8.0-45-generic-advanced-0b5c")
    '6.8.0-45-generic'
    """
    last = title.rpartition(">")[2][:1000]
    match = re.search(r"(?:[Ll]inux |gnulinux-)(\d\S*?)(?:-(?:advanced|recovery)-\S*|\s.*)?$", last) or re.search(r"\((\d\S+)\)", last)
    if match:
        return match[1]
    if re.match(r"gnulinux-simple|[0]$", title):
        return ""
    return Unread("error", f"the boot loader's default entry {title!r} names no kernel release")


def _with_image(source: Source, releases: list[str]) -> str:
    """The newest release that has a kernel image in /boot, where /boot shows any; else the newest."""
    names = source.listdir("/boot")
    if isinstance(names, Unread):
        return releases[0]
    images = {match[1] for name in names if (match := re.match(r"(?:vmlinu[xz]|Image|vmlinuz\.efi)-(.+)", name))}
    return next((release for release in releases if release in images), releases[0])
