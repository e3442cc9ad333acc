"""What ``hostagent setup --json`` prints: the report of a check, and one more object, ``setup``."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hostagent.report import Report
from hostagent.setup.request import Backend, Generation, Request
from hostagent.setup.verdict import Verdict
from hostagent.typed import plain

#: What each field says, for the report's schema.
DESCRIPTIONS: Mapping[str, str] = {
    "setup": "Of 'hostagent setup' alone: what TAO's host set-up would print about this host.",
    "setup.generation": "Which generation of the script was stood in for: A wants exactly these versions, B at least these.",
    "setup.backend": "Where TAO's jobs are to run.",
    "setup.minimums": "What was wanted.",
    "setup.minimums.driver": "The driver: of generation A its branch.",
    "setup.minimums.cuda": "The CUDA toolkit.",
    "setup.minimums.toolkit": "The NVIDIA Container Toolkit.",
    "setup.lines": "The lines of standard output without --json, in their order.",
    "setup.exit": "The exit code: 0 ready, 1 not.",
}


@dataclass(frozen=True)
class Wanted:
    """The minimums."""

    driver: str
    cuda: str
    toolkit: str


@dataclass(frozen=True)
class SetUp:
    """The object ``setup``."""

    generation: Generation
    backend: Backend
    minimums: Wanted
    lines: tuple[str, ...]
    exit: int


def document(request: Request, verdict: Verdict, report: Report) -> dict[str, Any]:
    """The whole document, as data."""
    lines = tuple(map(str, verdict.lines))
    return {**plain(report), "setup": plain(SetUp(request.generation, request.backend, Wanted(*request.minimums), lines, verdict.exit))}
