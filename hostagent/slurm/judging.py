"""One check of the host by a program of Slurm, and how long its verdict holds."""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from hostagent.smallfile import read_small

if TYPE_CHECKING:
    from hostagent.app import Prepared
    from hostagent.evidence import Evidence
    from hostagent.report import Report
    from hostagent.slurm.verdict import Author, NodeVerdict

#: Seconds between two runs where slurm.conf does not say it, or says 0: not at all.
INTERVAL_S = 300.0
_CONF = ("/etc/slurm/slurm.conf", "/etc/slurm-llnl/slurm.conf", "/run/slurm/conf/slurm.conf")
_CONF_BYTES = 4 * 1024 * 1024
_INTERVAL, _DIGITS = "healthcheckinterval", 6


class Judged(NamedTuple):
    """``text``: the verdict file."""

    verdict: "NodeVerdict"
    text: str


class Times(NamedTuple):
    """``valid_for_s``: of the verdict, from now on."""

    node: str
    valid_for_s: float
    author: "Author"


def interval_s(slurm_conf: str = "") -> float:
    """Seconds between two runs of HealthCheckProgram."""
    named = slurm_conf or os.environ.get("SLURM_CONF", "")
    for path in (named,) if named else _CONF:
        try:
            found = [value for key, value in _settings(path) if key == _INTERVAL and value.isdecimal() and len(value) <= _DIGITS]
        except OSError:
            continue
        return float(found[-1]) if found and int(found[-1]) else INTERVAL_S
    return INTERVAL_S


def _settings(path: str, *, is_included: bool = False) -> "Iterator[tuple[str, str]]":
    """Of slurm.conf and the files that it includes. Raises ``OSError``; an included file that cannot be read is left out."""
    from hostagent.collect.slurm.conf import parse_conf

    for line in parse_conf(read_small(path, _CONF_BYTES).decode("utf-8", "replace")).lines:
        for key, value in line:
            if key == "include" and not is_included:
                with contextlib.suppress(OSError):
                    yield from _settings(os.path.join(os.path.dirname(path), value), is_included=True)
            yield key, value


def judged(place: "Evidence", prepare: "Callable[[], Prepared]", times: Times) -> Judged:
    """Read the host and judge it now. Whether slurmd runs is left out: it starts this program. Raises ``HostagentError`` as `prepare` and
    `hostagent.evidence.open_host` do.
    """
    from hostagent import app
    from hostagent.evidence import open_host
    from hostagent.slurm.verdict import OF_SLURMD

    began = time.time()
    with open_host(place) as reading:
        whole = prepare()
        prepared = whole._replace(checks=tuple(one for one in whole.checks if one.id != OF_SLURMD))
        report = app.examine(reading, prepared, times.node)
    return of_report(report, prepared, times, began)


def of_report(report: "Report", prepared: "Prepared", times: Times, began: float) -> Judged:
    """As of `began`, when the check began, in seconds since the epoch, also for a recording: what was recorded is there now."""
    import json

    from hostagent.daemon.conditions import measured
    from hostagent.report import state
    from hostagent.slurm.verdict import NodeVerdict, document, is_own_fault

    loaded = prepared.loaded
    whole = replace(report, observed_at=began, valid_until=began + times.valid_for_s)
    base = state.document(whole, loaded.files, loaded.profile.quarantine)
    conditions = measured(whole, {one.id: one.family.condition for one in prepared.checks})
    reasons, messages = ({one.type: getattr(one, key) for one in conditions} for key in ("reason", "message"))
    found = NodeVerdict(
        single=whole.verdict.single_node,
        multi=whole.verdict.multi_node,
        single_reason=reasons["Ready"],
        multi_reason=reasons["MultiNodeReady"],
        headline=base["headline"],
        step=next(iter(base["todo"]), ""),
        coverage=base["coverage"],
        fabric_class=base["fabric_class"],
        quarantine=base["quarantine"],
        observed_at=began,
        valid_until=whole.valid_until,
        author=times.author,
        own_fault=is_own_fault(base["reasons"]),
        single_message=messages["Ready"],
        multi_message=messages["MultiNodeReady"],
        has_gpus=base["has_gpus"],
    )
    return Judged(found, json.dumps(document(found, times.node, whole.boot_id, base), indent=1) + "\n")
