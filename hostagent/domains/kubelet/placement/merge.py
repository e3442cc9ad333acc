"""The topology manager's merge of all resources' hints."""

# Where no preferred set exists, the hint under best-effort is what the kubelet's comparison ends with: of the size of the widest
# resource's narrowest set, else the next smaller, else the smallest; then the lowest number, or the shortest distances. The
# kubelet itself does not end with more than about 18 NUMA nodes under any policy but none, whatever max-allowable-numa-nodes
# says.

from typing import NamedTuple

from hostagent.domains.kubelet.placement.compromise import reachable
from hostagent.domains.kubelet.placement.masks import FEW, Hints, NoHints, bits, choose, mask_of
from hostagent.domains.kubelet.placement.walk import walk


class Policy(NamedTuple):
    """The policy with its options; `distances` are the rows of the nodes, by id, where prefer-closest-numa-nodes is on."""

    name: str
    ids: tuple[int, ...]
    closest: bool
    distances: dict[int, tuple[int, ...]]


class Best(NamedTuple):
    """The merged hint. `mask` is None where the policy chose no nodes."""

    mask: int | None
    preferred: bool
    hinted: bool


class PanicError(Exception):
    """The kubelet would crash here."""


def merge(policy: Policy, hints: list[Hints]) -> Best | None:
    """The merged hint, or None where the policy rejects. Raises ``TooManyError`` and ``PanicError``."""
    default = mask_of(policy.ids)
    if not hints:
        return Best(None if policy.name == "single-numa-node" else default, True, False)
    if policy.closest and any(number >= len(policy.distances[number]) for number in policy.ids):
        mask, preferred = walk(hints, default, lambda mask: distance(policy, mask))
        return Best(mask, preferred, True) if preferred or policy.name == "best-effort" else None
    found = None if any(isinstance(one, NoHints) for one in hints) else _preferred(policy, hints)
    if found is not None:
        alone = policy.name == "single-numa-node" and found == default
        return Best(None if alone else found, True, True)
    if policy.name != "best-effort":
        return None
    return Best(_compromise(policy, [one for one in hints if not isinstance(one, NoHints)], default), False, True)


def _preferred(policy: Policy, hints: list[Hints]) -> int | None:
    """The best set that every resource prefers."""
    if policy.name == "single-numa-node":
        return next((1 << number for number in policy.ids if _all_prefer(hints, 1 << number)), None)
    fixed = {one.width for one in hints if not one.own_preference}
    if len(fixed) > 1:
        return None
    holders = mask_of(policy.ids)
    for one in hints:
        holders &= one.universe if one.own_preference else one.holders
    candidates = bits(holders)
    for size in sorted(fixed) or range(1, len(candidates) + 1):
        if not all(one.may_fit(candidates, size) for one in hints):
            continue
        sets = choose(candidates, size)
        if not policy.closest:
            found = next((mask for mask in sets if _all_prefer(hints, mask)), None)
        else:
            found = closest(policy, [mask for mask in sets if _all_prefer(hints, mask)])
        if found is not None:
            return found
    return None


def _all_prefer(hints: list[Hints], mask: int) -> bool:
    return all(not mask & ~one.universe and one.fits(mask) and one.prefers(mask) for one in hints)


def closest(policy: Policy, masks: list[int]) -> int | None:
    """The set with the shortest distances among sets of one size, then the lowest number."""
    if len(masks) < 2:
        return masks[0] if masks else None
    return min(masks, key=lambda mask: (distance(policy, mask), mask))


def distance(policy: Policy, mask: int) -> int:
    """The sum of the distances within a set. The kubelet takes a node's id for its place in the row, which ids with gaps run over."""
    members = bits(mask)
    try:
        return sum(policy.distances[one][other] for one in members for other in members)
    except (IndexError, KeyError) as error:
        raise PanicError from error


def _compromise(policy: Policy, hints: list[Hints], default: int) -> int:
    """best-effort where no set suits all: what the hints have in common, as near as possible to the widest resource's need."""
    if not hints:
        return default
    if len(policy.ids) > FEW:
        return _compromise_of_many(policy, hints, default)
    reached = {default}
    wanted = 0
    for one in hints:
        masks = one.all()
        wanted = max(wanted, min(mask.bit_count() for mask in masks))
        reached = {mask & other for mask in masks for other in reached}
    sizes = {mask.bit_count() for mask in reached if mask}
    if not sizes:
        return default
    size = _nearest(sizes, wanted)
    best = [mask for mask in reached if mask.bit_count() == size]
    found = closest(policy, best) if policy.closest else min(best)
    return default if found is None else found


def _compromise_of_many(policy: Policy, hints: list[Hints], default: int) -> int:
    wanted = max(one.fewest_now() for one in hints)
    for size in (*range(wanted, 0, -1), *range(wanted + 1, len(policy.ids) + 1)):
        masks = reachable(hints, size)
        found = closest(policy, list(masks)) if policy.closest else next(masks, None)
        if found is not None:
            return found
    return default


def _nearest(sizes: set[int], wanted: int) -> int:
    """The size itself, else the next smaller one, else the smallest."""
    return max((size for size in sizes if size <= wanted), default=min(sizes))
