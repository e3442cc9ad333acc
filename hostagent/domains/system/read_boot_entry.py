"""The kernel of the next boot: by GRUB's menu, by the loader's entries, else by the menu that update-grub would write."""

import functools
import re
from collections.abc import Iterable

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, need
from hostagent.domains.system.grub_menu import MenuEntry, default_entry
from hostagent.domains.system.read_boot_menu import environment, grub_entry, loader_entry
from hostagent.facts.version import compare_deb
from hostagent.host.source import Source

_SETTINGS = ("GRUB_DEFAULT", "GRUB_FLAVOUR_ORDER", "GRUB_DISABLE_SUBMENU", "GRUB_DISABLE_RECOVERY")
#: As a shell parses them: in quotes, or one word.
_SET = re.compile(rf"^[ \t]*(?:export[ \t]+)?({'|'.join(_SETTINGS)})=(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^\s#]*))", re.MULTILINE)
_KEEP = Keep("matches", (_SET.pattern,))
#: A kernel's file in /boot, and below it in trees of ostree.
_IMAGE = re.compile(r"(?:vmlinu[xz]|Image|kernel|vmlinuz\.efi)-(?!0-rescue)(\d.*)")
_NO_KERNEL = re.compile(r"\.(?:old|bak|hmac|gz|img|signed|unsigned|dpkg-\w+|rpm\w+)$")


def newest_first(releases: Iterable[str]) -> list[str]:
    """
    Kernel releases in package version order.

    >>> newest_first(["6.8.0-9-generic", "6.8.0-45-generic", "5.15.0-119-generic"])
    ['6.8.0-45-generic', '6.8.0-9-generic', '5.15.0-119-generic']
    """
    return sorted(releases, key=functools.cmp_to_key(compare_deb), reverse=True)


def image_release(name: str) -> str:
    """The release in the name of a kernel's file, "" for none.

    >>> image_release("vmlinuz-6.8.0-45-generic"), image_release("Image-6.4.0-150600.21-default"), image_release("vmlinuz")
    ('6.8.0-45-generic', '6.4.0-150600.21-default', '')
    >>> image_release("vmlinuz-linux"), image_release("vmlinuz-0-rescue-5b0f1d2c9e8a47b6a1c3d4e5f6071829")
    ('', '')
    """
    match = _IMAGE.fullmatch(name)
    return match[1] if match and not _NO_KERNEL.search(name) else ""


def next_release(source: Source, installed: "tuple[str, ...] | Unread", images: "tuple[str, ...] | Unread") -> "str | Unread":
    """The release that the next boot uses. If nothing names an entry, only kernels with a modules directory count."""
    if isinstance(installed, Unread):
        return installed
    if not installed:
        return Unread("absent", "no kernel below /lib/modules")
    entry = grub_entry(source)
    if entry is None:
        entry = loader_entry(source)
    if isinstance(entry, Unread):
        return entry
    return _release_of(source, entry, installed) if entry is not None else _by_settings(source, installed, images)


def _release_of(source: Source, entry: MenuEntry, installed: tuple[str, ...]) -> "str | Unread":
    """The release of the kernel that an entry loads; a file name without one is a link, or lies in a directory named after the release."""
    directory, _, name = entry.kernel.rpartition("/")
    if release := image_release(name):
        return release
    for part in (*reversed(directory.split("/")), name.removesuffix(".efi")):
        if found := next((one for one in installed if part and (part == one or part.endswith(f"-{one}"))), ""):
            return found
    for path in (f"/boot/{name}", f"/{name}") if name else ():
        target = source.readlink(path)
        if isinstance(target, str) and (release := image_release(target.rpartition("/")[2])):
            return release
    return Unread(
        "error",
        f"the boot loader's default entry {entry.title[:80]!r} loads {entry.kernel[:80] or 'nothing'!r}, which names no kernel release",
    )


@stops_at_unread
def _by_settings(source: Source, installed: tuple[str, ...], images: "tuple[str, ...] | Unread") -> str:
    """Without a written menu: the entry that update-grub would make from its settings, on Debian and SUSE (grub.d/10_linux)."""
    settings = need(_settings(source))
    default = settings.get("GRUB_DEFAULT", "")
    if default == "saved":
        values = need(environment(source))
        default = values.get("next_entry") or values.get("saved_entry", "")
    present = [one for one in installed if one in images] if not isinstance(images, Unread) else []
    order = _by_flavour(newest_first(present or installed), settings.get("GRUB_FLAVOUR_ORDER", "").split())
    if re.match(r"gnulinux-simple|0?$", default):
        return order[0]
    if found := re.search(
        r"(?:[Ll]inux |gnulinux-)(\d\S*?)(?:-(?:advanced|recovery)-\S*|\s.*)?$|\((\d\S+)\)$", default.rpartition(">")[2][:1000]
    ):
        return found[1] or found[2]
    return image_release(need(default_entry(_menu(order, settings), default)).kernel)


def _by_flavour(releases: list[str], flavours: list[str]) -> list[str]:
    """Debian's GRUB_FLAVOUR_ORDER: kernels of these flavours first, in this order.

    >>> _by_flavour(["6.8.0-90-lowlatency", "6.8.0-87-generic", "6.8.0-60-generic"], ["generic"])
    ['6.8.0-87-generic', '6.8.0-60-generic', '6.8.0-90-lowlatency']
    """
    ranks = {flavour: at for at, flavour in enumerate(flavours)}
    return sorted(releases, key=lambda one: ranks.get(one.rpartition("-")[2], len(ranks)))


def _menu(order: list[str], settings: dict[str, str]) -> tuple[MenuEntry, ...]:
    """The menu of update-grub: the newest kernel, then a submenu with all kernels, each with its recovery mode."""
    twice = settings.get("GRUB_DISABLE_RECOVERY", "") != "true"
    each = [MenuEntry(f"{one}{mode}", f"{one}{mode}", f"vmlinuz-{one}") for one in order for mode in ("", " recovery")[: 1 + twice]]
    if settings.get("GRUB_DISABLE_SUBMENU", "") in ("y", "true"):
        return tuple(each)
    return (each[0], MenuEntry("Advanced options", "gnulinux-advanced", "", tuple(each)))


@stops_at_unread
def _settings(source: Source) -> dict[str, str]:
    names = need(source.listdir("/etc/default/grub.d", absent=()))
    found: dict[str, str] = {}
    for path in ("/etc/default/grub", *(f"/etc/default/grub.d/{name}" for name in names if name.endswith(".cfg"))):
        found |= parse_settings(need(source.text(path, keep=_KEEP, absent="")))
    return found


def parse_settings(text: str) -> dict[str, str]:
    r"""
    The settings of update-grub that decide the default entry.

    >>> parse_settings('GRUB_DEFAULT="1>2"\nGRUB_TIMEOUT=5\n#GRUB_DEFAULT=0\nexport GRUB_FLAVOUR_ORDER=\'generic lowlatency\'\n')
    {'GRUB_DEFAULT': '1>2', 'GRUB_FLAVOUR_ORDER': 'generic lowlatency'}
    """
    return {match[1]: match[2] or match[3] or match[4] or "" for match in _SET.finditer(text)}
