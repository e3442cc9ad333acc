"""The apt sources that name an NVIDIA repository."""

from hostagent.check import need, skip
from hostagent.facts.packages import AptSource, Packages


def enabled_sources(packages: Packages) -> list[AptSource]:
    """The check does not apply where there is none."""
    return [one for one in need(packages.apt_sources) if one.enabled] or skip("no enabled apt source names an NVIDIA repository")
