"""One check of the host by a program of Slurm, and how long its verdict holds."""

import os
import re
import time
from collections.abc import Callable
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
_INTERVAL = re.compile(r"^\s*HealthCheckInterval\s*=\s*(\d{1,6})\b", re.IGNORECASE | re.MULTILINE)


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
            text = read_small(path, _CONF_BYTES).decode("utf-8", "replace")
        except OSError:
            continue
        found = _INTERVAL.findall(text)
        return float(found[-1]) if found and int(found[-1]) else INTERVAL_S
    return INTERVAL_S


def judged(place: "Evidence", prepare: "Callable[[], Prepared]", times: Times) -> Judged:
    """Read the host and judge it now. Whether slurmd runs is left out: it starts this program. Raises ``HostagentError`` as `prepare` and
    `hostagent.evidence.open_host` do.
    """
    from hostagent import app
    from hostagent.evidence import open_host
    from hostagent.slurm.verdict import OF_SLURMD

    with open_host(place) as reading:
        whole = prepare()
        prepared = whole._replace(checks=tuple(one for one in whole.checks if one.id != OF_SLURMD))
        report = app.examine(reading, prepared, times.node)
    return of_report(report, prepared, times)


def of_report(report: "Report", prepared: "Prepared", times: Times) -> Judged:
    """With the present time, also for a recording: what was recorded is there now."""
    import json

    from hostagent.daemon.conditions import measured
    from hostagent.report import state
    from hostagent.slurm.verdict import NodeVerdict, document, is_own_fault

    now, loaded = time.time(), prepared.loaded
    whole = replace(report, observed_at=now, valid_until=now + times.valid_for_s)
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
        observed_at=now,
        valid_until=whole.valid_until,
        author=times.author,
        own_fault=is_own_fault(base["reasons"]),
        single_message=messages["Ready"],
        multi_message=messages["MultiNodeReady"],
    )
    return Judged(found, json.dumps(document(found, times.node, whole.boot_id, base), indent=1) + "\n")
