"""Output of ``hostagent setup --json``: the report of a check, and one more object, ``setup``."""

from dataclasses import dataclass
from typing import Any

from hostagent.core.typed import plain
from hostagent.engine.report import Report
from hostagent.setup.request import Backend, Generation, Request
from hostagent.setup.verdict import Verdict


@dataclass(frozen=True)
class Wanted:
    """The minimums."""

    driver: str
    """The driver: of generation A its branch."""
    cuda: str
    """The CUDA toolkit."""
    toolkit: str
    """The NVIDIA Container Toolkit."""


@dataclass(frozen=True)
class SetUp:
    """The object ``setup``."""

    generation: Generation
    """The generation of the script: A wants exactly these versions, B at least these."""
    backend: Backend
    """Where TAO's jobs are to run."""
    minimums: Wanted
    """The wanted versions."""
    lines: tuple[str, ...]
    """The lines of standard output without --json, in their order."""
    exit: int
    """The exit code: 0 ready, 1 not."""


def document(request: Request, verdict: Verdict, report: Report) -> dict[str, Any]:
    """The whole document, as data."""
    lines = tuple(map(str, verdict.lines))
    return {**plain(report), "setup": plain(SetUp(request.generation, request.backend, Wanted(*request.minimums), lines, verdict.exit))}
