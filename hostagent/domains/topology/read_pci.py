"""PCI functions as sysfs shows them: addresses, classes, and whether a device still answers."""

# Configuration space takes up to 10 ms per read, so it is read only for a GPU with a dead-looking link, or missing in NVML or /proc.

import re
from typing import Any, NamedTuple

from hostagent.core.retention import WHOLE, Keep
from hostagent.core.unread import Unread, then
from hostagent.host.source import Source
from hostagent.host.values import line_in, number_in

DEVICES = "/sys/bus/pci/devices"
_DRIVERS = "/sys/bus/pci/drivers"
#: The driver that is called as its module.
_OWN_NAME = "nvidia"
NVIDIA = 0x10DE
#: Vendors of GPUs that are named and not evaluated: AMD, Intel.
OTHER_VENDORS = (0x1002, 0x8086)
#: Base class and subclass (pci_ids.h): VGA controller, 3D controller, other display, processing accelerator.
VGA, THREE_D, DISPLAY, ACCELERATOR = 0x0300, 0x0302, 0x0380, 0x1200

_ADDRESS = re.compile(r"(?:([0-9a-fA-F]{1,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})\.([0-7])", re.ASCII)
_SPEED = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,3})?) GT/s", re.ASCII)
#: Lanes of a real link; a register of all ones reads as 63, one that sysfs cannot decode as 255.
_LANES = range(1, 33)


class Function(NamedTuple):
    """A PCI function that is or may be a GPU; ``kind`` and ``vendor`` may be unread."""

    pci: str
    kind: "int | Unread"  # base class and subclass
    vendor: "int | Unread"


def parse_address(text: str) -> str:
    """A PCI address as sysfs writes it; raises ``ValueError`` for anything else. Domains may exceed four digits.

    >>> parse_address("00000000:1A:00.0"), parse_address("1a:00.0"), parse_address("00010000:1A:00.0")
    ('0000:1a:00.0', '0000:1a:00.0', '10000:1a:00.0')
    """
    match = _ADDRESS.fullmatch(text.strip())
    if not match:
        raise ValueError(f"{text[:40]!r} is no PCI address")
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus}:{device}.{function}".lower()


def is_address(name: str) -> bool:
    return _ADDRESS.fullmatch(name) is not None


def parse_hex(text: str, where: str) -> "int | Unread":
    r"""A number as sysfs writes ids: ``0x10de``.

    >>> parse_hex("0x030200\n", "class")
    197120
    >>> parse_hex("3D", "class")
    Unread('error', "class: found '3D', wanted a number like 0x10de")
    """
    digits = text.strip()
    if re.fullmatch(r"0x[0-9a-fA-F]{1,8}", digits, re.ASCII):
        return int(digits, 16)
    return Unread("error", f"{where}: found {digits[:40]!r}, wanted a number like 0x10de")


def scan(source: Source) -> "tuple[Function, ...] | Unread":
    """The functions with a GPU's class, and those with an unreadable class or vendor."""
    names = source.listdir(DEVICES)
    if isinstance(names, Unread):
        return names
    found: list[Function] = []
    for name in names:
        if not is_address(name):
            continue
        kind = number(source, name, "class")
        if isinstance(kind, int):
            kind >>= 8
            if kind not in (VGA, THREE_D, DISPLAY, ACCELERATOR):
                continue
        elif kind.why == "absent":  # removed between listing and read
            continue
        found.append(Function(parse_address(name), kind, number(source, name, "vendor")))
    return tuple(found)


def number(source: Source, pci: str, name: str) -> "int | Unread":
    path = f"{DEVICES}/{pci}/{name}"
    return then(source.text(path, keep=WHOLE), lambda text: parse_hex(text, path))


def identity(source: Source, pci: str, name: str) -> "str | Unread":
    """An id in its usual form: ``0x2330``."""
    return then(number(source, pci, name), lambda found: f"0x{found:04x}")


def word(source: Source, pci: str, name: str) -> "str | Unread":
    return line_in(source, f"{DEVICES}/{pci}/{name}")


def count(source: Source, pci: str, name: str) -> "int | Unread":
    """A decimal attribute, which may be negative."""
    return number_in(source, f"{DEVICES}/{pci}/{name}")


def bound_to(source: Source, pci: str) -> "str | Unread":
    """The name of the bound driver, "" for none."""
    target = source.readlink(f"{DEVICES}/{pci}/driver")
    if isinstance(target, Unread):
        return "" if target.why == "absent" else target
    return target.rstrip("/").rpartition("/")[2]


def bound_module(source: Source, name: "str | Unread") -> "str | Unread":
    """The module of a bound driver, "" for none: drivers may have another name (NovaCore is nova_core's), and some are built in."""
    if isinstance(name, Unread) or name in ("", _OWN_NAME):
        return name
    target = source.readlink(f"{_DRIVERS}/{name}/module")
    if isinstance(target, Unread):
        return "" if target.why == "absent" else target
    return target.rstrip("/").rpartition("/")[2]


def driver_override(source: Source, pci: str) -> "str | Unread":
    """The only driver that may bind the device, "" for any; kernels before 3.16 have no such file."""
    return then(line_in(source, f"{DEVICES}/{pci}/driver_override", absent=""), lambda name: "" if name == "(null)" else name)


def is_vga(source: Source, pci: str) -> "bool | Unread":
    return then(number(source, pci, "class"), lambda kind: kind >> 8 == VGA)


def is_virtual(source: Source, pci: str) -> bool:
    """Whether the function is a virtual one, which is not a card."""
    return isinstance(source.readlink(f"{DEVICES}/{pci}/physfn"), str)


def config_readable(source: Source, pci: str, speed: "str | Unread", width: "int | Unread") -> "bool | Unread":
    """Whether PCI configuration space answers: False if it reads all ones.

    The kernel reads speed and width from configuration space each time (ids are cached), so a plausible link is proof enough.
    Otherwise the space itself is read, which takes 10 ms and wakes a sleeping GPU.
    """
    if isinstance(speed, str) and isinstance(width, int) and "GT/s" in speed and width in _LANES:
        return True
    data = source.read(f"{DEVICES}/{pci}/config", keep=Keep("head", ("4",)))
    if isinstance(data, Unread):
        return data
    return data[:4] != b"\xff\xff\xff\xff" if len(data) >= 4 else Unread("error", f"{DEVICES}/{pci}/config: {len(data)} bytes")


def lanes(source: Source, pci: str) -> "int | Unread":
    """The lower of the maximum widths of card and port: many boards wire eight lanes to a slot for sixteen."""
    own, port = count(source, pci, "max_link_width"), count(source, pci, "../max_link_width")
    if isinstance(own, Unread) or (isinstance(port, Unread) and port.why == "absent"):
        return own
    return port if isinstance(port, Unread) else min(own, port) if port in _LANES else own


def slower(card: "str | Unread", port: "str | Unread") -> "str | Unread":
    """The lower of two speeds in sysfs format; the card's if the port has none or does not report it.

    >>> slower("32.0 GT/s PCIe", "16.0 GT/s PCIe"), slower("16.0 GT/s PCIe", "Unknown")
    ('16.0 GT/s PCIe', '16.0 GT/s PCIe')
    """
    if isinstance(card, Unread) or (isinstance(port, Unread) and port.why == "absent"):
        return card
    if isinstance(port, Unread):
        return port
    own, other = _SPEED.match(card), _SPEED.match(port)
    return port if own and other and float(other[1]) < float(own[1]) else card


def facts(source: Source, pci: str) -> dict[str, Any]:
    """The fields of `hostagent.facts.gpu.Gpu` from sysfs."""
    speed, width = word(source, pci, "current_link_speed"), count(source, pci, "current_link_width")
    offered = word(source, pci, "max_link_speed")
    device = identity(source, pci, "device")
    bound = then(device, lambda _: bound_to(source, pci))
    return {
        "device_id": device,
        "vga": is_vga(source, pci),
        "bound_to": bound,
        "bound_module": then(device, lambda _: bound_module(source, bound)),
        "driver_override": then(device, lambda _: driver_override(source, pci)),
        "numa_node": count(source, pci, "numa_node"),
        "local_cpus": word(source, pci, "local_cpulist"),
        "config_readable": config_readable(source, pci, speed, width),
        "link_speed": speed,
        "link_speed_card": offered,
        "link_speed_max": slower(offered, word(source, pci, "../max_link_speed")),
        "link_width": width,
        "link_width_max": lanes(source, pci),
    }
