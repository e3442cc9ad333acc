"""The exit code of ``hostagent check``: one rule, also for JUnit, which must fail alike."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from hostagent.core.vocabulary import Verdict
from hostagent.engine.report import PLACEABLE, Judgement, Report
from hostagent.engine.report.grouping import NOTHING, rank_of

_DEGRADED = NOTHING - 1
#: By verdict, as a plug-in of Nagios exits: OK, WARNING, CRITICAL, UNKNOWN.
NAGIOS_CODES: Mapping[Verdict, int] = {"ready": 0, "degraded": 1, "not_ready": 2, "unknown": 3}


class Asked(NamedTuple):
    """The scope that sets the exit code, and the lowest severity that exits 1; unknown always does."""

    scope: Literal["single_node", "multi_node"] = "single_node"
    fail_on: Literal["not-ready", "degraded"] = "not-ready"

    def succeeds(self, report: Report) -> bool:
        verdict = getattr(report.verdict, self.scope)
        return verdict in PLACEABLE and (self.fail_on == "not-ready" or verdict == "ready")

    def is_failed_by(self, one: Judgement) -> bool:
        """Whether this finding by itself makes the exit code 1."""
        if one.outcome not in ("fail", "warn", "unknown") or (self.scope == "single_node" and one.scope != "node"):
            return False
        return rank_of(one) < (NOTHING if self.fail_on == "degraded" else _DEGRADED)
