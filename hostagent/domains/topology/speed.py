"""Speeds of PCIe links as numbers."""

import re

_SPEED = re.compile(r"(\d{1,4}(?:\.\d{1,3})?) GT/s")


def gigatransfers(speed: str) -> float:
    """The number in "32.0 GT/s PCIe"; 0 for none."""
    match = _SPEED.match(speed)
    return float(match[1]) if match else 0.0
