"""One check of the host by a program of Slurm."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from hostagent.engine.pipeline import Prepared
    from hostagent.engine.report import Report
    from hostagent.engine.target import Evidence
    from hostagent.slurm.programs.verdict import Author


class Purpose(NamedTuple):
    """``valid_for_s``: seconds for which the verdict holds, from the begin of the check on."""

    node: str
    valid_for_s: float
    author: "Author"


def check_host(place: "Evidence", prepare: "Callable[[], Prepared]", purpose: Purpose) -> dict[str, Any]:
    """The document of the verdict. Whether slurmd runs is left out: it starts this program. Raises ``HostagentError`` as `prepare` and
    `hostagent.engine.target.open_host` do.
    """
    from hostagent.engine import pipeline
    from hostagent.engine.target import open_host
    from hostagent.slurm.programs.verdict import OF_SLURMD

    began = time.time()
    with open_host(place) as reading:
        whole = prepare()
        prepared = whole._replace(checks=tuple(one for one in whole.checks if one.id != OF_SLURMD))
        report = pipeline.examine(reading, prepared, purpose.node)
    return document(report, prepared, purpose, began)


def document(report: "Report", prepared: "Prepared", purpose: Purpose, began: float) -> dict[str, Any]:
    """As of `began`, in seconds since the epoch, also for a recording: what was recorded is there now."""
    from hostagent.daemon.conditions import measured, status_of
    from hostagent.engine.report import state
    from hostagent.slurm.programs.verdict import CONDITIONS

    profile = prepared.loaded.profile
    whole = replace(report, observed_at=began, valid_until=began + purpose.valid_for_s)
    conditions = [
        {"type": one.type, "status": status_of(one.verdict), "reason": one.reason, "message": one.message}
        for one in measured(whole, {one.id: one.family.condition for one in prepared.checks})
        if one.type in CONDITIONS and one.verdict
    ]
    return {
        **state.document(whole, prepared.loaded.files, profile.quarantine, gpus=profile.gpus.count),
        "conditions": conditions,
        "slurm": {"node": purpose.node, "author": purpose.author},
    }
