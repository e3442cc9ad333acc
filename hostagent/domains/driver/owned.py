"""What somebody else than the host's own administrator has brought, by what lies in its place."""

# EKS installs its module at the first boot: an image is checked by the archive named after its kernel and by the unit that
# installs it. Drivers in trees below /opt/nvidia that are mounted at boot are checked on a running host only. A driver
# container's marks (.driver-ctr-ready, an empty root) excuse nothing, its complete libraries do.

from hostagent.core.unread import Unread, need
from hostagent.facts.driver import CONTAINER_ROOT, Driver
from hostagent.facts.platform import Part, Platform

_UNKNOWN = "?"


def image_of(platform: Platform, part: "Part | Unread") -> str:
    """The platform whose image or provider brings this part, "" where that is the host's own or the Operator's. Raises ``UnreadError``."""
    return need(platform.name) if need(part).owner in ("image", "provider") else ""


def brought_by(platform: Platform, driver: Driver) -> str:
    """The platform that has put whole libraries of the driver where it keeps them, "" for none. Raises ``UnreadError``."""
    name, place = image_of(platform, platform.libraries), need(platform.libraries).place
    if not name or place in ("", _UNKNOWN):
        return ""
    inside = [one for one in need(driver.libraries) if one.path.startswith(f"{place}/")]
    return name if any(not need(one.fault) for one in inside) else ""


def in_driver_container(driver: Driver) -> bool:
    """Whether a driver container has whole libraries of the driver. Raises ``UnreadError``."""
    return any(one.path.startswith(CONTAINER_ROOT) and not need(one.fault) for one in need(driver.libraries))


def comes_at_first_boot(platform: Platform, driver: Driver, release: str) -> str:
    """The archive out of which an image installs the module of this kernel when it first boots; "" for none. Raises ``UnreadError``.

    DKMS names an archive by the module, its version, the kernel and the architecture. A host that runs is past that.
    """
    if not (isinstance(driver.loaded, Unread) and driver.loaded.why == "not-running"):
        return ""
    return next((path for path in need(platform.module_archives) if f"-kernel{release}-" in path.rpartition("/")[2]), "")


def lies_in_its_place(platform: Platform, path: str) -> bool:
    """Whether a file lies where the platform keeps the driver's libraries. Raises ``UnreadError``."""
    place = need(platform.libraries).place
    return place not in ("", _UNKNOWN) and path.startswith(f"{place}/")
