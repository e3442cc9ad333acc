"""Driver components owned by the image, the provider or the GPU Operator, by the files in their directories."""

# EKS installs its module at the first boot: an image is checked by the archive named after its kernel and by the unit that
# installs it. Drivers in trees below /opt/nvidia that are mounted at boot are checked on a running host only. Of a driver
# container, complete libraries count, not its marks (.driver-ctr-ready, an empty root).

from hostagent.core.unread import Unread, need
from hostagent.facts.driver import CONTAINER_ROOT, Driver
from hostagent.facts.platform import Part, Platform

_UNKNOWN = "?"


def image_of(platform: Platform, part: "Part | Unread") -> str:
    """The platform if its image or provider owns this part, "" if the host or the Operator does. Raises ``UnreadError``."""
    return need(platform.name) if need(part).owner in ("image", "provider") else ""


def library_platform(platform: Platform, driver: Driver) -> str:
    """The platform with complete driver libraries in its own directory, "" for none. Raises ``UnreadError``."""
    name, place = image_of(platform, platform.libraries), need(platform.libraries).place
    if not name or place in ("", _UNKNOWN):
        return ""
    inside = [one for one in need(driver.libraries) if one.path.startswith(f"{place}/")]
    return name if any(not need(one.fault) for one in inside) else ""


def in_driver_container(driver: Driver) -> bool:
    """Whether a driver container has complete driver libraries. Raises ``UnreadError``."""
    return any(one.path.startswith(CONTAINER_ROOT) and not need(one.fault) for one in need(driver.libraries))


def first_boot_archive(platform: Platform, driver: Driver, release: str) -> str:
    """The archive from which an image installs this kernel's module at its first boot; "" for none. Raises ``UnreadError``.

    DKMS names an archive by the module, its version, the kernel and the architecture. A running host has had its first boot.
    """
    if not (isinstance(driver.loaded, Unread) and driver.loaded.why == "not-running"):
        return ""
    return next((path for path in need(platform.module_archives) if f"-kernel{release}-" in path.rpartition("/")[2]), "")


def in_platform_directory(platform: Platform, path: str) -> bool:
    """Whether a file lies where the platform keeps the driver's libraries. Raises ``UnreadError``."""
    place = need(platform.libraries).place
    return place not in ("", _UNKNOWN) and path.startswith(f"{place}/")
