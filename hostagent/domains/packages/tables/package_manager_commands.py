"""Package managers, with the commands that remedies use.

Sources: apt-get(8), apt-mark(8); dnf(8) and its versionlock plugin; zypper(8); tdnf's own help. NVIDIA Driver Installation Guide, release
620 (the development package of each kernel, by distribution). Read 2026-11.
"""

from typing import NamedTuple


class Manager(NamedTuple):
    """``hold`` and ``unhold`` are "" if it has none."""

    database: str  # dpkg, rpm
    ids: tuple[str, ...]  # os-release's IDs; () for all others with that database
    install: str
    reinstall: str
    purge: str
    hold: str
    unhold: str
    at: str  # between a package's name and the version that is wanted


MANAGERS = (
    Manager("dpkg", (), "apt-get install", "apt-get install --reinstall", "apt-get purge", "apt-mark hold", "apt-mark unhold", "="),
    Manager(
        "rpm",
        ("sles", "sle_hpc", "sled", "opensuse-leap", "opensuse-tumbleweed"),
        *("zypper install", "zypper install --force", "zypper remove", "zypper addlock", "zypper removelock"),
        "=",
    ),
    Manager("rpm", ("azurelinux", "mariner", "photon"), "tdnf install", "tdnf reinstall", "tdnf remove", "", "", "-"),
    Manager("rpm", (), "dnf install", "dnf reinstall", "dnf remove", "dnf versionlock add", "dnf versionlock delete", "-"),
)

#: Package managers for which this version applies plans; plans for the others are only shown.
CARRIED_OUT = ("apt-get",)

#: Commands that rebuild an initramfs, of one kernel and of all, by package database.
INITRAMFS = {
    "dpkg": ("update-initramfs -u -k {}", "update-initramfs -u -k all"),
    "rpm": ("dracut --force --kver {}", "dracut --force --regenerate-all"),
}

#: The same by tool: Debian and Ubuntu have either of them (dracut(8), update-initramfs(8)).
INITRAMFS_TOOLS = {"update-initramfs": INITRAMFS["dpkg"], "dracut": INITRAMFS["rpm"]}

#: Kernel variants with their own development package, by a part of the release (RHEL: rt, 64k; Oracle: uek).
VARIANTS = ("rt", "64k", "uek")


def manager(database: str, id_: str) -> "Manager | None":
    """The package manager of a host with this package database and os-release ID.

    >>> manager("rpm", "rocky").install, manager("rpm", "sles").install, manager("", "talos")
    ('dnf install', 'zypper install', None)
    """
    return next((one for one in MANAGERS if one.database == database and (not one.ids or id_ in one.ids)), None)
