"""Settings of PCI functions: a few words of their configuration space, as reading all of it takes a card ten milliseconds.

PCI Local Bus Specification, section 6.7 (the list of capabilities); PCI Express Base Specification, sections 7.5.3.4 (Device Control),
7.6.3 (the extended list) and 7.7.11.3 (ACS Control); Linux kernel, ABI/testing/sysfs-bus-pci-devices-aer_stats.
"""

# A runtime-suspended function is not-supported, because a read would resume it. An ordinary user gets the 64 bytes of the header,
# so the first function with capabilities makes the whole question denied. Extended space that the kernel does not reach (256
# bytes) is an error, not "no ACS".

import os
import re
from collections.abc import Callable, Iterable
from typing import Any

from hostagent.core.tables.rights import TAKES_ADMIN
from hostagent.core.unread import Unread
from hostagent.host.files import Files

_DEVICES = "/sys/bus/pci/devices"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)
_STATUS, _HAS_LIST, _FIRST = 0x06, 0x10, 0x34
_EXPRESS, _DEVICE_CONTROL = 0x10, 0x08
_EXTENDED, _ACS, _ACS_CONTROL = 0x100, 0x0D, 0x06
#: Bytes that every user may read.
_HEADER = 64
_TOTAL = re.compile(rb"^TOTAL_ERR_FATAL[ \t]+(\d{1,20})\s*$", re.MULTILINE)

#: (offset, bytes): a little-endian number.
Words = Callable[[int, int], int]


class _EndError(Exception):
    """No byte at that offset: without CAP_SYS_ADMIN the kernel shows only the header."""


def controls(files: Files, addresses: Iterable[str]) -> "dict[str, Any] | Unread":
    """By address ``acs``, ``control`` and ``fatal``: numbers, or ``{"unread": [why, detail]}``; ``Unread`` without permission."""
    found: dict[str, Any] = {}
    for address in dict.fromkeys(addresses):
        if not _ADDRESS.fullmatch(address):
            return Unread("error", f"{address!r:.40} is no PCI address")
        read = _registers(files, address)
        if isinstance(read, Unread):
            return read
        found[address] = {**read, "fatal": _fatal(files, address)}
    return found


def _registers(files: Files, address: str) -> "dict[str, Any] | Unread":
    path = f"{_DEVICES}/{address}/config"
    state = files.read(f"{_DEVICES}/{address}/power/runtime_status")
    if isinstance(state, bytes) and state.strip() == b"suspended":
        return _both(Unread("not-supported", f"{address} sleeps, and reading its configuration would wake it"))
    config = files.descriptor(path)
    if isinstance(config, Unread):
        return _both(config)

    def words(offset: int, size: int) -> int:
        data = os.pread(config, size, offset)
        if len(data) < size:
            raise _EndError(offset)
        return int.from_bytes(data, "little")

    try:
        return {name: value if isinstance(value, int) else _plain(value) for name, value in settings(words).items()}
    except _EndError:
        return Unread("denied", f"{path}: what stands beyond its first {_HEADER} bytes {TAKES_ADMIN}")
    except OSError as error:
        return _both(Unread("error", f"{path}: {(error.strerror or 'unknown error').lower()}"))
    finally:
        os.close(config)


def settings(words: Words) -> "dict[str, int | Unread]":
    """ACS Control and Device Control of one function. Raises ``_EndError`` where the readable part ends before them.

    >>> config = {6: 0x10, 0x34: 0x40, 0x40: 0x10, 0x48: 0x2936, 0x100: 0x1400_0001, 0x140: 0x0000_000D, 0x146: 0x1D}
    >>> settings(lambda offset, size: config.get(offset, 0))
    {'acs': 29, 'control': 10550}
    """
    status = words(_STATUS, 2)
    if status == 0xFFFF:
        gone = Unread("error", "the function answers nothing: all ones")
        return {"acs": gone, "control": gone}
    express = _capability(words) if status & _HAS_LIST else 0
    if not express:
        none = Unread("not-supported", "the function has no PCI Express capability")
        return {"acs": none, "control": none}
    control = words(express + _DEVICE_CONTROL, 2)
    try:
        acs = _extended(words)
    except _EndError:
        return {"acs": Unread("error", "the kernel does not reach the extended configuration space"), "control": control}
    return {"acs": words(acs + _ACS_CONTROL, 2) if acs else Unread("not-supported", "the function has no ACS"), "control": control}


def _capability(words: Words) -> int:
    """Offset of the PCI Express capability; 0 for none. Ends also for a cyclic list."""
    place, visited = words(_FIRST, 1) & 0xFC, set[int]()
    while place >= _HEADER and place not in visited:
        visited.add(place)
        if words(place, 1) == _EXPRESS:
            return place
        place = words(place + 1, 1) & 0xFC
    return 0


def _extended(words: Words) -> int:
    """Offset of the ACS capability; 0 for none."""
    place, visited = _EXTENDED, set[int]()
    while place >= _EXTENDED and place not in visited:
        visited.add(place)
        head = words(place, 4)
        if head in (0, 0xFFFFFFFF):
            return 0
        if head & 0xFFFF == _ACS:
            return place
        place = head >> 20 & 0xFFC
    return 0


def _fatal(files: Files, address: str) -> Any:
    path = f"{_DEVICES}/{address}/aer_dev_fatal"
    text = files.read(path)
    if isinstance(text, Unread):
        return _plain(text)
    total = _TOTAL.search(text)
    return int(total[1]) if total else _plain(Unread("error", f"{path} has no TOTAL_ERR_FATAL"))


def _both(why: Unread) -> dict[str, Any]:
    return {"acs": _plain(why), "control": _plain(why)}


def _plain(answer: Unread) -> dict[str, list[str]]:
    return {"unread": [answer.why, answer.detail]}
