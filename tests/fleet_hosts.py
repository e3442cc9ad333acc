"""Writes ``tests/fleet``, the example of the guide: summaries of twelve nodes made of recorded hosts. ``python -m tests.fleet_hosts``."""

import functools
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hostagent.engine.report import Report
from hostagent.engine.report.node_status import compact
from hostagent.engine.report.node_summary import summary
from tests.recorded import report_of

FOLDER = Path(__file__).parent / "fleet"
#: The year 2100: the example does not expire.
VALID_UNTIL = 4_102_444_800.0
#: The year 2020: how long ago that is reads the same on every day.
_LONG_AGO = 1_600_000_000.0
_ROCE, _RACK = "hgx-h100-roce", "gb200-nvl"
#: Driver and CUDA of the node that was left behind, and the toolkit of another.
_OLD_DRIVER, _OLD_CUDA, _OLD_TOOLKIT = "570.195.03", "12.8", "1.18.2"


def _alone(report: Report) -> Report:
    """NVLink ends at the host, as of every HGX board: recordings have a domain all the same."""
    gpus = [{**one, "nvlink_domain": {"unread": "absent", "detail": "NVLink ends at this host"}} for one in report.facts["gpus"]]
    return replace(report, facts={**report.facts, "gpus": gpus})


def _healthy() -> Report:
    return _alone(report_of(_ROCE))


def _with_cause_of(name: str, *facts: str) -> Report:
    """The healthy host with what was found on another one, and the facts that belong to it."""
    other = _alone(report_of(name))
    return replace(
        _healthy(),
        facts={**_healthy().facts, **{part: other.facts[part] for part in facts}},
        findings=other.findings,
        reading_order=other.reading_order,
        verdict=other.verdict,
        headline=other.headline,
        action=other.action,
    )


def _with_driver(version: str, cuda: str) -> Report:
    made = _healthy()
    return replace(made, facts={**made.facts, "driver": {**made.facts["driver"], "loaded": version, "cuda": cuda}})


def _with_toolkit(version: str) -> Report:
    made = _healthy()
    return replace(made, facts={**made.facts, "toolkit": {**made.facts["toolkit"], "version": version}})


def _expired() -> Report:
    return replace(_healthy(), observed_at=_LONG_AGO, valid_until=_LONG_AGO + 900)


_MADE: Mapping[str, Callable[[], Report]] = {
    **{f"gpu-{number:02}": _healthy for number in range(1, 5)},
    "gpu-05": lambda: _with_toolkit(_OLD_TOOLKIT),
    "gpu-06": lambda: _with_cause_of("hgx-h100-next-kernel-without-module"),
    "gpu-07": lambda: _with_driver(_OLD_DRIVER, _OLD_CUDA),
    "gpu-08": lambda: _alone(report_of("hgx-h100-roce-one-rail-1500")),
    "gpu-09": lambda: _with_cause_of("hgx-h100-gpu-off-the-bus", "gpus"),
    "gpu-10": _expired,
    "gpu-11": lambda: report_of(_RACK),
    "gpu-12": lambda: report_of(_RACK),
}


@functools.cache
def summaries() -> dict[str, dict[str, Any]]:
    """By node."""
    found = {}
    for name, make in _MADE.items():
        made = make()
        boot = hashlib.sha256(name.encode()).hexdigest()
        until = made.valid_until if make is _expired else VALID_UNTIL
        boot_id = f"{boot[:8]}-{boot[8:12]}-4{boot[13:16]}-8{boot[17:20]}-{boot[20:32]}"
        found[name] = summary(replace(made, host=replace(made.host, node_name=name), boot_id=boot_id, valid_until=until))
    return found


def files() -> dict[str, str]:
    """By the path below the folder, what `main` writes."""
    return {f"{name}.json": f"{compact(one)}\n" for name, one in summaries().items()}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, text in files().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
