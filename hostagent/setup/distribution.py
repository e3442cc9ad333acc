"""The host's family of distributions, and its package manager, as the script names them."""

from typing import NamedTuple

from hostagent.core.unread import Unread
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.os import Ancestry, Os
from hostagent.facts.packages import Packages
from hostagent.setup.distributions import FAMILIES, INSTALLABLE, LIKE, MANAGERS, WITH_YUM, Family


class Distribution(NamedTuple):
    family: Family
    manager: str  # apt-get, dnf, yum, zypper, pacman; "" of an unknown family
    title: str  # PRETTY_NAME; "" where the host has no os-release

    @property
    def installs(self) -> bool:
        """Whether the script would install here."""
        return self.family in INSTALLABLE


def distribution(facts: HostFacts) -> Distribution:
    found = facts.of(Os)
    id_, version, title = ("", "", "") if isinstance(found, Unread) else map(_word, (found.id, found.version_id, found.pretty_name))
    family = _family(id_, facts)
    manager = "yum" if (id_, version.partition(".")[0]) in WITH_YUM else MANAGERS[family]
    return Distribution(family, manager, title or f"{id_} {version}".strip())


def _family(id_: str, facts: HostFacts) -> Family:
    if not id_:
        return "unknown"
    if id_ in FAMILIES:
        return FAMILIES[id_]
    ancestry = facts.of(Ancestry)
    likes = ancestry if isinstance(ancestry, Unread) else ancestry.id_like
    if isinstance(likes, Unread) and likes.why == "not-recorded":  # an older recording
        packages = facts.of(Packages)
        return "debian" if not isinstance(packages, Unread) and _word(packages.manager) == "dpkg" else "unknown"
    words = set(_word(likes).split())
    return next((family for names, family in LIKE if words & set(names)), "unknown")


def _word(value: "str | Unread") -> str:
    return "" if isinstance(value, Unread) else value
