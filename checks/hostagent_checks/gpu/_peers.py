"""The GPUs that a GPU may be compared with."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from hostagent.check import NOT_APPLICABLE, Unread, need, skip
from hostagent.facts.gpu import Gpu

from ._judged import VFIO

T = TypeVar("T")


def alike(gpu: Gpu, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """The other GPUs of the host with the same PCI device id, but for those of virtual machines.

    One whose id is unread may be one of them: the check is unknown.
    """
    own = need(gpu.device_id)
    others = (one for one in gpus if one.pci != gpu.pci and (isinstance(one.bound_to, Unread) or one.bound_to != VFIO))
    return tuple(one for one in others if need(one.device_id) == own)


def told(values: "Iterable[T | Unread]") -> list[T]:
    """Those that were read."""
    return [one for one in values if not isinstance(one, Unread)]


def need_all(values: "Iterable[object]") -> None:
    """One that there should be and that is unread leaves the check unknown: what was lost may be the better one."""
    for one in values:
        if isinstance(one, Unread) and one.why not in NOT_APPLICABLE:
            need(one)


def peer_values(gpu: Gpu, gpus: tuple[Gpu, ...], value: "Callable[[Gpu], T | Unread]") -> list[T]:
    """`value` of each peer that tells it. Where none does the check does not apply, or is unknown: a GPU's kind or value is unread."""
    told = [value(one) for one in alike(gpu, gpus)]
    read = [one for one in told if not isinstance(one, Unread)]
    if not read:
        for one in told:
            need(one)
        skip("there is no other GPU of this kind to compare with")
    return read
