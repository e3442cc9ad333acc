"""Turn a snapshot into a test."""

import os
import shutil
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.engine.collection import InProcess
from hostagent.engine.pipeline import examine, prepare
from hostagent.engine.report import Report
from hostagent.engine.report.grouping import NOTHING, groups
from hostagent.host.recording import ReplayBackend, Tape
from hostagent.profiles.profile import Loaded


def expectation(report: Report) -> dict[str, Any]:
    """What ``expect.yaml`` of a recorded host holds: verdicts, causes that count, and the ids of everything that is not pass,
    skip or off.

    ``not_recorded``, only where there are some, are the checks of which the tape has no answer, and nothing else is unknown: they
    ask what this program did not read when it recorded the host.
    """
    by_outcome: dict[str, set[str]] = {"fail": set(), "warn": set(), "unknown": set()}
    for one in report.findings:
        if one.outcome in by_outcome:
            by_outcome[one.outcome].add(one.id)
    unread = {one.id for one in report.findings if one.outcome == "unknown" and one.code != "unread-not-recorded"}
    not_recorded = by_outcome["unknown"] - unread
    by_outcome["unknown"] = unread
    return {
        "profile": report.profile.name,
        "single_node": report.verdict.single_node,
        "multi_node": report.verdict.multi_node,
        "causes": [" ".join((group.cause.finding.id, *group.cause.subjects)) for group in groups(report) if group.rank < NOTHING],
        **{outcome: sorted(ids) for outcome, ids in by_outcome.items()},
        **({"not_recorded": sorted(not_recorded)} if not_recorded else {}),
    }


def adopt(tape: Tape, text: str, directory: str, loaded: Loaded) -> dict[str, Any]:
    """Write ``tape.json`` and ``expect.yaml`` into `directory`, which must not exist. Raises ``HostagentError``."""
    import yaml

    expected = expectation(examine(InProcess(ReplayBackend(tape), replayed=True), prepare(loaded)))
    try:
        os.makedirs(directory)
        try:
            with open(os.path.join(directory, "tape.json"), "w", encoding="utf-8") as stream:
                stream.write(text)
            with open(os.path.join(directory, "expect.yaml"), "w", encoding="utf-8") as stream:
                yaml.safe_dump(expected, stream, sort_keys=False)
        except BaseException:
            shutil.rmtree(directory, ignore_errors=True)
            raise
    except OSError as error:
        raise HostagentError(
            f"cannot write {directory}: {(error.strerror or str(error)).lower()}", "Name a directory that does not exist yet"
        ) from error
    return expected
