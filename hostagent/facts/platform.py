"""What kind of host it is, and to whom the parts of it belong that hostagent judges."""

from hostagent.facts.frozen import frozen
from hostagent.facts.unread import Unread
from hostagent.vocabulary import Base, PartOwner


@frozen
class Part:
    """Where a part of the host lies, and who changes it."""

    place: str  # a directory; "" where the distribution puts it, "?" where this release does not know
    owner: PartOwner


@frozen
class Platform:
    """Recognised by two marks that are independent: what the system says it is, and the thing in its place."""

    name: str | Unread  # "GKE node on Container-Optimized OS"; "" for a host of no platform that this release knows
    base: Base | Unread
    operator: tuple[str, ...] | Unread  # what the GPU Operator's containers bring: driver, toolkit
    driver: Part | Unread
    libraries: Part | Unread
    toolkit: Part | Unread
    runtime: Part | Unread  # the runtime's configuration

    def part(self, name: str) -> Part | Unread:
        return {"driver": self.driver, "toolkit": self.toolkit, "runtime": self.runtime}[name]
