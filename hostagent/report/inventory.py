"""What a host is made of, on one line: from the facts of its report, so that whoever has the report can say it."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from hostagent.report import Report

_GIB = 1024**3


def inventory(report: Report) -> str:
    """``8 x NVIDIA H100 80GB HBM3 (80 GiB), driver 580.178.04 (open), toolkit 1.19.0, containerd 2.1.5``; what is unread is left out."""
    return ", ".join(parts(report))


def parts(report: Report) -> tuple[str, ...]:
    """The GPUs, the driver, the toolkit and each runtime, those that could be read."""
    facts = report.facts
    runtimes = [_runtime(one) for one in _rows(facts.get("runtimes"))]
    return tuple(part for part in (_gpus(facts), _driver(facts), _toolkit(facts), *runtimes) if part)


def gpu_rows(report: Report) -> tuple[tuple[str, ...], ...]:
    """(index, PCI address, model, memory, UUID) of each GPU; "" for what could not be read."""
    return tuple(
        (_number(one.get("index")), _text(one.get("pci")), _text(one.get("name")), _gib(one.get("memory_bytes")), _text(one.get("uuid")))
        for one in _rows(report.facts.get("gpus"))
    )


def _gpus(facts: Mapping[str, Any]) -> str:
    rows = facts.get("gpus")
    if not isinstance(rows, list):
        return ""
    if not rows:
        return "no GPU"
    kinds: dict[str, Counter[str]] = {}
    for one in _rows(rows):
        kinds.setdefault(_text(one.get("name")) or "GPU of unknown model", Counter())[_gib(one.get("memory_bytes"))] += 1
    return ", ".join(_kind(name, sizes) for name, sizes in kinds.items())


def _kind(name: str, sizes: Counter[str]) -> str:
    """A GPU that does not say how much memory it has is still of its kind."""
    known = " or ".join(size for size in sizes if size)
    return f"{sizes.total()} x {name}{f' ({known})' if known else ''}"


def _number(value: Any) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else ""


def _gib(value: Any) -> str:
    return f"{value / _GIB:.0f} GiB" if isinstance(value, int) and not isinstance(value, bool) else ""


def _driver(facts: Mapping[str, Any]) -> str:
    driver = facts.get("driver")
    if not isinstance(driver, dict):
        return ""
    loaded, userland, flavour = (_text(driver.get(name)) for name in ("loaded", "userland", "flavour"))
    if loaded and userland and loaded != userland:
        return f"driver {loaded} loaded / {userland} installed"
    version = loaded or userland
    return f"driver {version}{f' ({flavour})' if flavour else ''}{'' if loaded else ' (not loaded)'}" if version else ""


def _toolkit(facts: Mapping[str, Any]) -> str:
    toolkit = facts.get("toolkit")
    version = _text(toolkit.get("version")) if isinstance(toolkit, dict) else ""
    return f"toolkit {version}" if version else ""


def _runtime(row: Mapping[str, Any]) -> str:
    return " ".join(part for part in (_text(row.get("kind")), _text(row.get("version"))) if part)


def _rows(value: Any) -> list[Any]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
