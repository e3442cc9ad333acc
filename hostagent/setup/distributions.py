"""Families of distributions as in TAO's host set-up, by os-release's ID, else by ID_LIKE.

Source: setup-nvidia-gpu-host.sh of NVIDIA-TAO/tao-skill-bank. Read 2026-11.
"""

from collections.abc import Mapping
from typing import Literal

Family = Literal["debian", "rhel", "suse", "arch", "unknown"]
FAMILIES: Mapping[str, Family] = {
    **dict.fromkeys(("ubuntu", "debian", "linuxmint", "pop", "raspbian"), "debian"),
    **dict.fromkeys(("fedora", "rhel", "rocky", "almalinux", "centos", "ol", "amzn"), "rhel"),
    **dict.fromkeys(("opensuse-leap", "opensuse-tumbleweed", "sles", "sled"), "suse"),
    **dict.fromkeys(("arch", "manjaro", "endeavouros", "cachyos", "garuda"), "arch"),
}
#: By a word of ID_LIKE; the first row that has one.
LIKE: tuple[tuple[tuple[str, ...], Family], ...] = (
    (("debian", "ubuntu"), "debian"),
    (("rhel", "fedora", "centos"), "rhel"),
    (("suse", "opensuse"), "suse"),
    (("arch",), "arch"),
)
MANAGERS: Mapping[Family, str] = {"debian": "apt-get", "rhel": "dnf", "suse": "zypper", "arch": "pacman", "unknown": ""}
#: (ID, the first field of VERSION_ID) of those that have yum and no dnf.
WITH_YUM = frozenset({("rhel", "7"), ("centos", "7"), ("ol", "7"), ("amzn", "2")})
#: For which it installs.
INSTALLABLE: tuple[Family, ...] = ("debian", "rhel", "suse")
