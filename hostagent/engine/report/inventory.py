"""The hardware of a host on one line, from the facts of its report."""

# The line does not name NCCL: jobs in containers bring another one.

from collections.abc import Mapping
from typing import Any

from hostagent.engine.report import Report

_GIB = 1024**3
GPU_FIELDS = ("index", "pci", "name", "memory", "uuid", "serial")


def inventory(report: Report) -> str:
    """``8 x NVIDIA H100 80GB HBM3 (80 GiB), driver 580.178.04 (open), toolkit 1.19.0, containerd 2.1.5``; what is unread is left out.

    Inside a container it begins with that: what is judged is the container, not the host around it.
    """
    facts = report.facts
    runtimes = [_runtime(one) for one in _rows(facts.get("runtimes"))]
    return ", ".join(part for part in (_container(facts), _gpus(facts), _driver(facts), _toolkit(facts), *runtimes) if part)


def _container(facts: Mapping[str, Any]) -> str:
    platform = facts.get("platform")
    if not isinstance(platform, dict):
        return ""
    return "this container" if _text(platform.get("virtual")) == "container" or platform.get("contained") is True else ""


def _gpus(facts: Mapping[str, Any]) -> str:
    rows = facts.get("gpus")
    if not isinstance(rows, list):
        return ""
    if not rows:
        return "no GPU"
    kinds: dict[str, list[Any]] = {}
    for one in rows:
        kinds.setdefault(_text(one.get("name")) or "GPU of unknown model", []).append(one.get("memory_bytes"))
    return ", ".join(f"{len(sizes)} x {name}{_memory(sizes)}" for name, sizes in kinds.items())


def _memory(sizes: list[Any]) -> str:
    """The common memory size of all GPUs that were read."""
    known = {_gib(size) for size in sizes} - {""}
    return f" ({known.pop()})" if len(known) == 1 else ""


def _gib(size: Any) -> str:
    return f"{size / _GIB:.0f} GiB" if isinstance(size, int) and not isinstance(size, bool) else ""


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


def gpus(report: Report) -> tuple[Mapping[str, str], ...]:
    """Each GPU as text: ``index``, ``pci``, ``name``, ``memory``, ``uuid``, ``serial``; "" for what is unread."""
    rows = _rows(report.facts.get("gpus"))
    return tuple({name: _gib(row.get("memory_bytes")) if name == "memory" else _cell(row.get(name)) for name in GPU_FIELDS} for row in rows)


def _cell(value: Any) -> str:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _rows(value: Any) -> list[Any]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
