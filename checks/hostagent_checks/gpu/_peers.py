"""The GPUs that a GPU may be compared with."""

from collections.abc import Callable
from typing import TypeVar

from hostagent.check import need, skip
from hostagent.facts.gpu import Gpu
from hostagent.facts.unread import Unread

T = TypeVar("T")


def alike(gpu: Gpu, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
    """The other GPUs of the host with the same PCI device id."""
    own = need(gpu.device_id)
    return tuple(one for one in gpus if one.pci != gpu.pci and not isinstance(one.device_id, Unread) and one.device_id == own)


def peer_values(gpu: Gpu, gpus: tuple[Gpu, ...], value: "Callable[[Gpu], T | Unread]") -> list[T]:
    """`value` of each peer that tells it. Where none does the check does not apply, or is unknown: a GPU's kind or value is unread."""
    told = [value(one) for one in alike(gpu, gpus)]
    read = [one for one in told if not isinstance(one, Unread)]
    if not read:
        for one in (*(other.device_id for other in gpus if other.pci != gpu.pci), *told):
            need(one)
        skip("the GPU has no peer of its kind to compare with")
    return read
