"""The static memory manager: which NUMA nodes can give memory, and what it gives."""

from typing import NamedTuple

from hostagent.domains.kubelet.placement.masks import FEW, Hints, TooManyError, bits, fewest, mask_of, subsets
from hostagent.domains.kubelet.placement.merge import Best, PanicError

MEMORY = "memory"


class Block(NamedTuple):
    """The memory of one type allocated to one container."""

    resource: str
    nodes: tuple[int, ...]
    size: int


class RefusedError(Exception):
    """Allocation fails; the text says why."""


class NodeMemory:
    """One NUMA node: allocatable, free and given by resource; `cells` are the nodes that its assignments share."""

    def __init__(self, number: int, allocatable: dict[str, int]) -> None:
        self.allocatable = allocatable
        self.free = dict(allocatable)
        self.assignments = 0
        self.cells: tuple[int, ...] = (number,)


class Memory:
    """All nodes' memory, and what each container of each pod has."""

    def __init__(self, nodes: dict[int, NodeMemory]) -> None:
        self.nodes = nodes
        self.ids = tuple(sorted(nodes))
        self.blocks: dict[tuple[int, str], list[Block]] = {}
        self.reusable: dict[tuple[int, str], int] = {}  # by mask and resource, of the pod's init containers

    def hints(self, wanted: dict[str, int]) -> list[Hints]:
        """One list for each resource, all of the same sets of nodes."""
        for resource in wanted:
            if any(resource not in node.allocatable for node in self.nodes.values()):
                raise PanicError
        if not self._any_fits(wanted):
            return []  # the manager then leaves the resource out, which counts as no preference
        width = self._width(wanted)
        holders = mask_of(
            number for number in self.ids if any(self.nodes[number].allocatable[one] for one in wanted) or not any(wanted.values())
        )
        return [self._hints(one, wanted, holders, width) for one in wanted]

    def _any_fits(self, wanted: dict[str, int]) -> bool:
        if len(self.ids) <= FEW:
            return any(self.fits(mask, wanted) for mask in subsets(self.ids))
        if any(node.assignments for node in self.nodes.values()):
            raise TooManyError
        return bool(wanted) and all(sum(node.free[one] for node in self.nodes.values()) >= need for one, need in wanted.items())

    def _hints(self, resource: str, wanted: dict[str, int], holders: int, width: int) -> Hints:
        free = None if self.reusable else {number: node.free[resource] for number, node in self.nodes.items()}
        return Hints(resource, self.ids, holders, lambda mask: self.fits(mask, wanted), width).holding(free, wanted[resource])

    def _fitting(self, wanted: dict[str, int]) -> list[int]:
        if len(self.ids) > FEW:
            raise TooManyError
        return [mask for mask in subsets(self.ids) if self.fits(mask, wanted)]

    def _width(self, wanted: dict[str, int]) -> int:
        """The fewest nodes with enough allocatable memory of all types at once."""
        if len(self.ids) <= FEW:
            return next((mask.bit_count() for mask in subsets(self.ids) if self._allows(mask, wanted)), len(self.ids))
        if len(wanted) == 1:
            ((resource, need),) = wanted.items()
            return fewest({number: node.allocatable[resource] for number, node in self.nodes.items()}, need, len(self.ids))
        raise TooManyError

    def _allows(self, mask: int, wanted: dict[str, int]) -> bool:
        members = [self.nodes[number] for number in bits(mask)]
        return all(sum(node.allocatable[one] for node in members) >= need for one, need in wanted.items())

    def fits(self, mask: int, wanted: dict[str, int]) -> bool:
        """Whether this set can serve: enough is allocatable and free, and no node serves sets of one and of several nodes at once."""
        numbers = bits(mask)
        if not self._allows(mask, wanted):
            return False
        if len(numbers) == 1 and len(self.nodes[numbers[0]].cells) > 1:
            return False
        if len(numbers) > 1 and self.violates(numbers):
            return False
        return all(
            sum(self.nodes[number].free[one] for number in numbers) + self.reusable.get((mask, one), 0) >= need
            for one, need in wanted.items()
        )

    def violates(self, numbers: tuple[int, ...]) -> bool:
        """Whether one of several nodes already serves another set."""
        if len(numbers) == 1:
            return False
        return any(
            self.nodes[number].assignments > 0
            and (len(self.nodes[number].cells) == 1 or tuple(sorted(self.nodes[number].cells)) != numbers)
            for number in numbers
        )

    def _best(self, wanted: dict[str, int], within: int) -> tuple[int, bool]:
        """The best set that holds these nodes: preferred before others, then the narrowest."""
        width = self._width(wanted)
        masks = [mask for mask in self._fitting(wanted) if mask & within == within]
        if not masks:
            raise RefusedError("no NUMA nodes have enough memory together")
        best = min(masks, key=lambda mask: (mask.bit_count() != width, mask.bit_count(), mask))
        return best, best.bit_count() == width

    def allocate(self, owner: tuple[int, str], wanted: dict[str, int], hint: Best, earlier: list[str], *, init: bool) -> None:
        """Gives a Guaranteed container its memory; raises `RefusedError`. `earlier` are the pod's init containers before this one."""
        if any(one not in node.allocatable for one in wanted for node in self.nodes.values()):
            raise PanicError
        mask = self._mask(wanted, hint)
        numbers = bits(mask)
        if self.violates(numbers):
            raise RefusedError("its NUMA nodes already give memory to pods on other sets of nodes")
        blocks = [Block(one, numbers, size) for one, size in wanted.items()]
        for block in blocks:
            self._take(numbers, block.resource, max(0, block.size - self.reusable.get((mask, block.resource), 0)))
        self._note_reusable(mask, blocks, init=init)
        self.blocks[owner] = blocks
        for block in blocks:
            self._shrink(owner[0], earlier, block)

    def _mask(self, wanted: dict[str, int], hint: Best) -> int:
        mask, preferred = hint.mask, hint.preferred
        if mask is None:
            if not wanted:
                raise RefusedError("it asks for no memory")
            mask, is_best = self._best(wanted, 0) if MEMORY in wanted else (None, False)
            if mask is None:
                raise PanicError
            if not is_best and preferred:
                raise RefusedError("no preferred set of NUMA nodes has enough memory")
            preferred = is_best
        if not all(sum(self.nodes[number].free[one] for number in bits(mask)) >= need for one, need in wanted.items()):
            if MEMORY not in wanted:
                raise RefusedError("no NUMA nodes have enough memory together")
            mask, is_best = self._best(wanted, mask)
            if not is_best and preferred:
                raise RefusedError("no preferred set of NUMA nodes has enough memory")
        return mask

    def _take(self, numbers: tuple[int, ...], resource: str, size: int) -> None:
        for number in numbers:
            node = self.nodes[number]
            node.assignments += 1
            node.cells = numbers
            given = min(size, node.free[resource])
            node.free[resource] -= given
            size -= given

    def _note_reusable(self, mask: int, blocks: list[Block], *, init: bool) -> None:
        for block in blocks:
            key = (mask, block.resource)
            if init:
                self.reusable[key] = max(self.reusable.get(key, 0), block.size)
            elif key in self.reusable:
                self.reusable[key] = max(0, self.reusable[key] - block.size)

    def _shrink(self, pod: int, earlier: list[str], block: Block) -> None:
        """Subtracts reused memory from the init container that had it."""
        left = block.size
        for name in earlier:
            blocks = self.blocks.get((pod, name), [])
            for place, one in enumerate(blocks):
                if left and one.size and one.resource == block.resource and one.nodes == block.nodes:
                    used = min(one.size, left)
                    blocks[place] = one._replace(size=one.size - used)
                    left -= used

    def release(self, pod: int, container: str) -> None:
        """Releases the memory of a rejected pod's container."""
        for block in self.blocks.pop((pod, container), []):
            left = block.size
            for number in block.nodes:
                node = self.nodes[number]
                node.assignments -= 1
                if node.assignments == 0:
                    node.cells = (number,)
                back = min(left, node.allocatable[block.resource] - node.free[block.resource])
                node.free[block.resource] += back
                left -= back
