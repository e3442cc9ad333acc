"""Base address registers of a GPU: where the firmware and the kernel placed its memory (Linux kernel, ABI/testing/sysfs-bus-pci, resource).

A GPU needs a BAR for its registers and two for its memory. Firmware without Above 4G decoding has little room below 4 GiB, and a
virtual machine as much as its hypervisor opens: a BAR that finds none is left without an address, and the driver cannot start the GPU.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from hostagent.core.tables.pci import is_coherent
from hostagent.core.unread import Unread
from hostagent.facts.gpu import Bar, Gpu

_LINE = re.compile(r"0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16}) 0x([0-9a-f]{1,16})", re.ASCII)
#: Linux kernel, include/linux/ioport.h: IORESOURCE_PREFETCH, _MEM_64, _UNSET.
_PREFETCH, _MEM_64, _UNSET = 0x2000, 0x100000, 0x20000000
_BARS, _4_GIB = 6, 1 << 32
#: Registers, the GPU's memory, and the driver's window: where the first is of 32 bits, and where each is of 64.
_NUMBERS, _NUMBERS_64 = (0, 1, 3), (0, 2, 4)


class Misplaced(NamedTuple):
    """A BAR that keeps a GPU from starting."""

    kind: Literal["empty", "low"]  # without an address, or below 4 GiB though it may be above
    number: int


def parse_resource(text: str, where: str) -> "tuple[Bar, ...] | Unread":
    r"""The BARs in ``/sys/bus/pci/devices/<address>/resource``: six lines of start, end and flags come first.

    >>> registers = "0x00000000b0000000 0x00000000b0ffffff 0x0000000000040200"
    >>> memory = "0x0000380000000000 0x0000381fffffffff 0x000000000014220c"
    >>> nothing = "0x0000000000000000 0x0000000000000000 0x0000000000000000"
    >>> found = parse_resource("\n".join((registers, memory, nothing, nothing, nothing, nothing)), "resource")
    >>> [(one.number, one.size_bytes >> 20, one.is_64bit) for one in found]
    [(0, 16, False), (1, 131072, True), (3, 0, False), (4, 0, False), (5, 0, False)]
    """
    found: list[Bar] = []
    is_upper_half = False
    for number, line in enumerate(text.splitlines()[:_BARS]):
        match = _LINE.match(line)
        if not match:
            return Unread("error", f"{where}: found {line[:60]!r}, wanted start, end and flags")
        start, end, flags = (int(part, 16) for part in match.groups())
        if not is_upper_half:
            size = end - start + 1 if flags and end > start else 0
            is_64bit = flags & _MEM_64 != 0 and flags & _PREFETCH != 0
            found.append(Bar(number, 0 if flags & _UNSET else start, size, is_64bit))
        is_upper_half = not is_upper_half and flags & _MEM_64 != 0
    return tuple(found) or Unread("error", f"{where} has no line")


def misplaced(gpu: Gpu, gpus: "tuple[Gpu, ...]") -> "Misplaced | None":
    """The BAR that keeps a GPU from starting, of one that NVML does not list; None where its BARs are in order, or were not read.

    Below 4 GiB is no cause where another GPU of the host works so.
    """
    found = None if gpu.in_nvml is True else _first(gpu)
    if found is not None and found.kind == "low" and any(one.in_nvml is True and _first(one) == found for one in gpus):
        return None
    return found


def _first(gpu: Gpu) -> "Misplaced | None":
    if isinstance(gpu.bars, Unread) or isinstance(gpu.device_id, Unread) or is_coherent(gpu.device_id):
        return None
    return next(_misplaced(gpu.bars), None)


def _misplaced(bars: tuple[Bar, ...]) -> Iterator[Misplaced]:
    by_number = {one.number: one for one in bars}
    numbers = _NUMBERS if 1 in by_number else _NUMBERS_64
    for number in numbers:
        if number in by_number and not (by_number[number].size_bytes and by_number[number].start):
            yield Misplaced("empty", number)
    memory = by_number.get(numbers[1])
    if memory is not None and memory.is_64bit and memory.start + memory.size_bytes <= _4_GIB:
        yield Misplaced("low", memory.number)
