"""The cases of our checks, loaded once in a worker of the tests."""

from pathlib import Path

from hostagent.engine.catalogue import OURS, load
from hostagent.testing import Case, cases

FOLDER = Path(__file__).parent / "cases"
CHECKS = {one.id: one for one in load([OURS])}
CASES: tuple[Case, ...] = tuple(cases(str(FOLDER), CHECKS))
