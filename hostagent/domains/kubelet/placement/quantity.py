"""Kubernetes quantities: ``200Gi``, ``1500m``, ``1e3``."""

import re
from struct import pack, unpack

_QUANTITY = re.compile(r"([+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30}))([numkMGTPE]?|[KMGTPE]i|[eE][+-]?[0-9]{1,3})", re.ASCII)
#: Suffixes of quantities, and the exponent that each is.
POWERS_OF_10 = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
POWERS_OF_2 = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_MOST = (1 << 63) - 1


def exact_quantity(text: object) -> tuple[int, int]:
    """As the API server reads it, as a fraction of two whole numbers: nothing is rounded. Raises ``ValueError``.

    What a kubelet makes of one, rounded, limited to 64 bits and printed again, is ``hostagent.domains.kubelet.config.quantity``.

    >>> exact_quantity("200Gi") == (200 * 2**30, 1), exact_quantity("500m"), exact_quantity("0.5"), exact_quantity(4)
    (True, (500, 1000), (5, 10), (4, 1))
    """
    words = str(text) if isinstance(text, str | int | float) and not isinstance(text, bool) else ""
    found = _QUANTITY.fullmatch(words) if len(words) < 100 else None
    if found is None:
        said = f"{str(text)[:40]!r}" if isinstance(text, str | int | float) else f"a {type(text).__name__}"
        raise ValueError(f"{said} is no quantity such as 4, 500m or 200Gi")
    before, _, after = found[1].partition(".")
    unit, number = found[2], int(before + after)
    if unit in POWERS_OF_2:
        return number << POWERS_OF_2[unit], int(10 ** len(after))
    power = POWERS_OF_10[unit] if unit in POWERS_OF_10 else int(unit[1:])
    if unit not in POWERS_OF_10 and power > 18:
        raise ValueError(f"{words!r} is larger than any resource")
    return number * int(10 ** max(power, 0)), int(10 ** (len(after) + max(-power, 0)))


def whole(text: object) -> int:
    """Bytes or pieces, rounded up. Raises ``ValueError`` for less than none and for more than 2^63-1."""
    return _rounded_up(text, 1)


def _rounded_up(text: object, times: int) -> int:
    number, parts = exact_quantity(text)
    value = -(-number * times // parts)
    if not 0 <= value <= _MOST:
        raise ValueError(f"{str(text)[:40]!r} is out of range")
    return value


def share_of(memory_bytes: int, percentage: str) -> int:
    """``1%`` of the memory as the kubelet computes it, in single precision (GetThresholdQuantity). Raises ``ValueError``.

    >>> share_of(16 * 2**30, "1%"), 16 * 2**30 // 100
    (171798688, 171798691)
    """
    percent = float(percentage.rstrip("%"))
    if not 0 <= percent <= 100:
        raise ValueError(f"{percentage[:40]!r} is no share of the memory")
    return int(_single(_single(memory_bytes) * _single(_single(percent) / 100)))


def _single(value: float) -> float:
    rounded: float = unpack("f", pack("f", value))[0]
    return rounded


def is_fraction(text: object) -> bool:
    """Whether it is no whole number: ``100m``. Raises ``ValueError``.

    >>> is_fraction("1.5Gi"), is_fraction("100m")
    (False, True)
    """
    number, parts = exact_quantity(text)
    return number % parts != 0


def milli(text: object) -> int:
    """Thousandths, rounded up: CPUs. Raises ``ValueError``."""
    return _rounded_up(text, 1000)


def shown_bytes(size: int) -> str:
    """With the largest binary unit that divides it: ``200Gi``."""
    for unit, scale in (("Ti", 40), ("Gi", 30), ("Mi", 20), ("Ki", 10)):
        if size and size % (1 << scale) == 0:
            return f"{size >> scale}{unit}"
    return str(size)


def shown_milli(value: int) -> str:
    """As Kubernetes writes a quantity of CPUs.

    >>> shown_milli(48000), shown_milli(32500)
    ('48', '32500m')
    """
    return str(value // 1000) if value % 1000 == 0 else f"{value}m"


def amount(resource: str, text: object) -> int:
    """The amount of a resource by its name: thousandths of CPUs, bytes, or pieces."""
    return milli(text) if resource == "cpu" else whole(text)


def shown(resource: str, value: int) -> str:
    if resource == "cpu":
        return shown_milli(value)
    return shown_bytes(value) if resource == "memory" or resource.startswith("hugepages-") else str(value)
