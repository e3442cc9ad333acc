"""Devices as programs name them: by PCI address and UUID."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hostagent.engine.report import Report
from hostagent.engine.report.node_status import Device

_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")


def uuids(facts: Mapping[str, Any]) -> dict[str, str]:
    """Of the GPUs whose UUID was read, by PCI address."""
    rows = facts.get("gpus")
    rows = rows if isinstance(rows, list) else []
    return {row["pci"]: row["uuid"] for row in rows if isinstance(row.get("uuid"), str) and isinstance(row.get("pci"), str)}


def address_of(subject: str, device: str) -> str:
    """The PCI address of a finding's subject, "" for one without. `device`: the subject as people call it.

    >>> address_of("0000:9d:00.0", "GPU 4 (0000:9d:00.0)"), address_of("mlx5_0:1", "port mlx5_0:1 (0000:1a:00.0)"), address_of("", "")
    ('0000:9d:00.0', '0000:1a:00.0', '')
    """
    found = _PCI.search(subject) or _PCI.search(device)
    return found.group() if found else ""


def devices_of(report: Report, subjects: Iterable[tuple[str, str]]) -> tuple[Device, ...]:
    """Each once. `subjects`: subject and device of findings."""
    known = uuids(report.facts)
    addresses = dict.fromkeys(filter(None, (address_of(*one) for one in subjects)))
    return tuple(Device(pci, known.get(pci, "")) for pci in addresses)
