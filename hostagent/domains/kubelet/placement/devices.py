"""The device manager: which NUMA nodes can give devices of a resource, and which devices it gives, the lowest first."""

# A real plug-in may prefer devices by their links. What a container gets of reusable devices when it takes fewer than the init
# containers had is the order of a map in the kubelet; the model takes the lowest.

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.kubelet.placement.masks import FEW, Hints, NoHints, TooManyError, fewest, mask_of, subsets
from hostagent.domains.kubelet.placement.memory import RefusedError
from hostagent.domains.kubelet.placement.merge import Best
from hostagent.facts.kubelet import Device


class Pool:
    """The devices of one resource, by their place in the order in which they are allocated."""

    def __init__(self, resource: str, devices: list[Device]) -> None:
        self.resource = resource
        self.masks: dict[int, int] = {}
        self.healthy: set[int] = set()
        self.taken: set[int] = set()
        self.unknown: Unread | None = None  # a device's health, or whether it is taken
        self.nowhere: Unread | None = None  # a device's NUMA nodes
        for place, device in enumerate(devices):
            if isinstance(device.nodes, Unread):
                self.nowhere = device.nodes
            for known in (device.healthy, device.allocated):
                if isinstance(known, Unread):
                    self.unknown = known
            self.masks[place] = 0 if isinstance(device.nodes, Unread) else mask_of(node for node in device.nodes if node >= 0)
            if device.healthy is not False:
                self.healthy.add(place)
            if device.allocated is True:
                self.taken.add(place)

    @property
    def has_topology(self) -> bool:
        return any(self.masks.values())

    @property
    def available(self) -> set[int]:
        return self.healthy - self.taken

    def hints(self, ids: tuple[int, ...], wanted: int, reusable: set[int]) -> Hints | None:
        """None where the devices have no topology. Raises ``UnreadError`` where it is not known."""
        for lacking in (self.unknown, self.nowhere):
            if lacking is not None:
                raise UnreadError(lacking)
        if not self.has_topology:
            return None
        available = self.available
        if len(available | reusable) < wanted:
            return NoHints(self.resource)
        free = [self.masks[place] for place in available]
        again = [self.masks[place] for place in reusable if self.masks[place]]

        def fits(mask: int) -> bool:
            if not all(mask & one for one in again):
                return False
            return len(again) + sum(1 for one in free if mask & one) >= wanted

        if not fits(mask_of(ids)):  # those without topology never count
            return NoHints(self.resource)
        holders = mask_of(ids) if wanted <= 0 else self._holders(ids)
        counts = None if again or any(one.bit_count() > 1 for one in free) else _counts(ids, free)
        return Hints(self.resource, ids, holders, fits, self._width(ids, wanted)).holding(counts, wanted)

    def _holders(self, ids: tuple[int, ...]) -> int:
        holders = 0
        for one in self.masks.values():
            holders |= one
        return holders & mask_of(ids)

    def _width(self, ids: tuple[int, ...], wanted: int) -> int:
        """The fewest nodes that hold so many, taken and unhealthy ones counted."""
        masks = list(self.masks.values())
        if not any(one.bit_count() > 1 for one in masks):
            return fewest(_counts(ids, masks), wanted, len(ids))
        if len(ids) > FEW:
            raise TooManyError
        enough = (mask.bit_count() for mask in subsets(ids) if sum(1 for one in masks if mask & one) >= wanted)
        return next(enough, len(ids))

    def allocate(self, wanted: int, reusable: set[int], hint: Best) -> set[int]:
        """The devices allocated, the reusable ones first, then those on the hint's nodes. Raises `RefusedError` and ``UnreadError``."""
        if self.unknown is not None:
            raise UnreadError(self.unknown)
        if not self.healthy:
            raise RefusedError(f"no {self.resource} is healthy")
        if wanted <= 0:
            return set()
        allocated = set(sorted(reusable)[:wanted])
        left = wanted - len(allocated)
        available = self.available
        if left > len(available):
            raise RefusedError(f"{left} of {self.resource} are asked for and {len(available)} are free")
        mask = hint.mask if hint.mask is not None and self.has_topology else 0
        aligned = {place for place in available if self.masks[place] & mask}
        allocated |= set(sorted(aligned)[:left])
        allocated |= set(sorted(available - allocated)[: wanted - len(allocated)])
        self.taken |= allocated
        return allocated


def _counts(ids: tuple[int, ...], masks: list[int]) -> dict[int, int]:
    counts = dict.fromkeys(ids, 0)
    for one in masks:
        number = one.bit_length() - 1
        if number in counts:
            counts[number] += 1
    return counts
