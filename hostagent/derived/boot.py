"""Steps that change what the next boot loads, with this host's own commands filled in."""

from hostagent.derived.packaging import initramfs
from hostagent.facts.packages import Packages
from hostagent.facts.unread import Unread
from hostagent.steps import Step

NOUVEAU_FILE = "/etc/modprobe.d/blacklist-nouveau.conf"


def rebuild_initramfs(packages: "Packages | Unread", release: str = "") -> Step:
    """Of one kernel, or of all; without a command where the package database does not say which tool there is."""
    command = initramfs(packages, release)
    named = "" if command else " ('update-initramfs' or 'dracut')"
    return Step("configure", f"Rebuild the initramfs{f' of kernel {release}' if release else ''}{named}.", command)


def blacklist_nouveau(packages: "Packages | Unread") -> tuple[Step, ...]:
    """Both names of the driver stay: nova_core is its successor, and loads where it is built."""
    lines = r"blacklist nouveau\nblacklist nova_core\noptions nouveau modeset=0\n"
    return (
        Step("configure", "Blacklist nouveau.", f"printf '{lines}' > {NOUVEAU_FILE}"),
        rebuild_initramfs(packages),
    )
