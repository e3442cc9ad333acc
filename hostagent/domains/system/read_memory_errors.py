"""Uncorrected errors of the host's memory since the boot, by EDAC in sysfs.

Sources: Linux kernel, Documentation/ABI/testing/sysfs-devices-edac and admin-guide/ras.rst.
"""

# ue_count includes ue_noinfo_count but in old kernels. A controller (mc0) has its modules as dimm*, or as rank* where the driver knows
# ranks alone; drivers of old kernels have csrow* alone. Modules are read where their controller has counted an error. The counters
# begin with the driver: a reload of it, or a write to reset_counters, clears them. A GPU's own memory is no controller of EDAC: its
# errors are NVML's and Xids, also on Grace boards.

from collections.abc import Callable, Iterator
from typing import Any

from hostagent.core.parsing import Allowance, stops_at_unread
from hostagent.core.unread import NOT_APPLICABLE, Unread, need, then
from hostagent.facts.host import MemoryErrors, MemoryModule
from hostagent.host.source import Source
from hostagent.host.values import line_in, number_in

_EDAC = "/sys/devices/system/edac/mc"
_IPMITOOL = ("/usr/bin/ipmitool", "/usr/sbin/ipmitool")
_MOST = 1024


def read_memory_errors(source: Source, known: Callable[[type], Any]) -> MemoryErrors:
    controllers = _controllers(source)
    modules = then(controllers, lambda those: _modules(source, those))
    total = then(controllers, lambda those: sum(those.values()))
    placed = then(modules, lambda those: sum(one.uncorrected for one in those))
    return MemoryErrors(
        modules=modules,
        unplaced=then(total, lambda errors: then(placed, lambda some: max(0, errors - some))),
        ipmitool=then(total, lambda errors: errors > 0 and any(source.exists(path) is True for path in _IPMITOOL)),
    )


@stops_at_unread
def _controllers(source: Source) -> dict[str, int]:
    """Errors by controller; absent without one."""
    names = [name for name in need(source.listdir(_EDAC)) if _is(name, "mc")]
    Allowance("memory controllers", _MOST).take(len(names))
    if not names:
        need(Unread("absent", "no driver of EDAC has a memory controller here"))
    return {name: max(need(_count(source, f"{_EDAC}/{name}/{file}")) for file in ("ue_count", "ue_noinfo_count")) for name in names}


def _count(source: Source, path: str) -> "int | Unread":
    """A counter; 0 where the driver has none of that name."""
    found = number_in(source, path)
    return 0 if isinstance(found, Unread) and found.why in NOT_APPLICABLE else found


@stops_at_unread
def _modules(source: Source, controllers: dict[str, int]) -> tuple[MemoryModule, ...]:
    return tuple(one for name, errors in sorted(controllers.items()) if errors for one in _of_controller(source, name))


def _of_controller(source: Source, controller: str) -> Iterator[MemoryModule]:
    """Raises ``UnreadError``."""
    places = need(source.listdir(f"{_EDAC}/{controller}"))
    Allowance("entries of a memory controller", _MOST).take(len(places))
    modules = [name for name in places if _is(name, "dimm") or _is(name, "rank")]
    for name in modules or [name for name in places if _is(name, "csrow")]:
        folder = f"{_EDAC}/{controller}/{name}"
        count, label = ("dimm_ue_count", "dimm_label") if modules else ("ue_count", "ch0_dimm_label")
        errors = need(_count(source, f"{folder}/{count}"))
        if errors > 0:
            text = line_in(source, f"{folder}/{label}")
            yield MemoryModule(_label("" if isinstance(text, Unread) else text) or f"{controller}/{name}", errors)


def _label(text: str) -> str:
    """A driver's label as one printable word: boards write "unknown memory", or fill it with spaces.

    >>> _label("CPU_SrcID#1_MC#1_Chan#1_DIMM#1"), _label("P0 CHANNEL A  DIMM 0"), _label("unknown memory (node 0)")
    ('CPU_SrcID#1_MC#1_Chan#1_DIMM#1', 'P0 CHANNEL A DIMM 0', '')
    """
    words = " ".join("".join(letter if letter.isprintable() else " " for letter in text[:60]).split())
    return "" if words.lower().startswith(("unknown", "any memory")) else words


def _is(name: str, kind: str) -> bool:
    number = name.removeprefix(kind)
    return name.startswith(kind) and number.isascii() and number.isdecimal()
