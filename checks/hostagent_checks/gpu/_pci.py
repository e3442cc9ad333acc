"""Faults of the PCIe link by the devices behind it."""

from collections.abc import Iterable, Mapping

from hostagent.domains.gpu.kernel_events import Trouble, trouble
from hostagent.facts.kernel_words import KernelEvent


def merged(by_devices: Mapping[tuple[str, ...], list[KernelEvent]]) -> Iterable[tuple[tuple[str, ...], Trouble]]:
    """One trouble for the device and the port above it."""
    return [(devices, trouble(devices[0], events)) for devices, events in by_devices.items()]
