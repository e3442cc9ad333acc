"""Packages that an automatic upgrade replaces."""

from hostagent.core.unread import need
from hostagent.facts.packages import Package, Packages, names


def moves(packages: Packages, package: Package) -> bool:
    """Whether an automatic upgrade may replace this package: it is not locked or excluded, and its origin is allowed.

    NVIDIA's repositories are allowed only if an entry names them or all origins. Raises ``UnreadError``.
    """
    if package.held:
        return False
    need(packages.locks)  # without them, no package is known to be held
    if not need(packages.unattended_upgrades) or any(names(glob, package.name) for glob in need(packages.unattended_blacklist)):
        return False
    origins = need(packages.unattended_origins)
    if need(package.origin) in ("cuda", "toolkit"):
        return any("nvidia" in one.lower() or "*" in one for one in origins)
    return bool(origins)
