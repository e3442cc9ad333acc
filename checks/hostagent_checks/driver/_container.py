"""A driver container's files on its host: they lie below a root of their own."""

from hostagent.check import need
from hostagent.facts.driver import CONTAINER_ROOT, Driver, Library


def host_libraries(driver: Driver) -> tuple[Library, ...]:
    """The driver's libraries without those of a driver container."""
    return tuple(one for one in need(driver.libraries) if not one.path.startswith(CONTAINER_ROOT))


def path_inside(path: str) -> str:
    """A path as the container sees it; one of the host's own stays."""
    return path.replace(CONTAINER_ROOT, "/", 1)
