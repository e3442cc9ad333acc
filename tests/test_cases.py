"""Every check's own cases, and what must hold over all of them."""

import ast
import os
from pathlib import Path

import pytest

from hostagent.engine.catalogue import OURS
from hostagent.engine.evaluate import evaluate
from hostagent.engine.lint import lint
from hostagent.facts.hostfacts import HostFacts
from hostagent.testing import mismatch, run_case, without_one_field
from tests.checkcases import CASES, CHECKS
from tests.over import over

DIRECTORY = os.path.join(os.path.dirname(__file__), "cases")
GREEN = [case for case in CASES if any(one["outcome"] == "pass" for one in case.expect)]
#: They say that something cannot be judged, and nothing else.
ONLY_UNKNOWN = {"os.platform"}
SKIPPED = [case for case in CASES if all(one["outcome"] == "skip" for one in case.expect)]


def _name(case: object) -> str:
    return os.path.relpath(case.path, DIRECTORY)  # type: ignore[attr-defined]


@pytest.mark.parametrize("case", CASES, ids=_name)
def test_a_case_is_judged_as_it_expects(case):
    assert not mismatch(case, run_case(case, CHECKS))


@pytest.mark.parametrize("case", GREEN, ids=_name)
def test_a_green_case_that_loses_a_field_passes_no_more(case):
    """A case names its check's true inputs: without any one of them no check may still pass on that subject."""
    for kind, value in case.facts.items():
        for path, changed in without_one_field(value):
            before = evaluate([CHECKS[case.check_id]], HostFacts(case.facts), case.profile)
            after = evaluate([CHECKS[case.check_id]], HostFacts({**case.facts, kind: changed}), case.profile)
            passed = sum(one.outcome == "pass" for one in after)
            assert passed < sum(one.outcome == "pass" for one in before), f"{kind.__name__}{path} is named but not needed"


@pytest.mark.parametrize("case", SKIPPED, ids=_name)
def test_a_case_that_does_not_apply_and_loses_a_field_does_not_pass(case):
    for kind, value in case.facts.items():
        for path, changed in without_one_field(value):
            after = evaluate([CHECKS[case.check_id]], HostFacts({**case.facts, kind: changed}), case.profile)
            assert all(one.outcome != "pass" for one in after), f"{kind.__name__}{path}"


@over("check_id", sorted(CHECKS))
def test_a_check_has_a_green_and_a_red_case(check_id):
    outcomes = {one["outcome"] for case in CASES if case.check_id == check_id for one in case.expect}
    folder = f"tests/cases/{check_id.replace('.', '/')}/"
    assert "pass" in outcomes, f"{check_id} has no passing case: write one below {folder}"
    assert outcomes & {"fail", "warn", *(["unknown"] if check_id in ONLY_UNKNOWN else [])}, (
        f"{check_id} has no failing case: write one below {folder}"
    )


@over("check_id", sorted(CHECKS))
def test_a_check_says_what_a_reader_needs(check_id):
    one = CHECKS[check_id]
    assert all((one.remedy, one.references, one.doc.strip(), one.title))
    assert not one.title.endswith("."), "a title is a condition, not a sentence"


def test_no_check_reaches_for_the_host():
    root = Path(__file__).parent.parent / "checks" / OURS
    problems = {path.name: lint(path.read_text()) for path in root.rglob("*.py")}
    assert {name: found for name, found in problems.items() if found} == {}


def test_an_absence_has_one_owner():
    owned = [path for one in CHECKS.values() for path in one.owns]
    assert len(owned) == len(set(owned))


def test_one_module_holds_one_check():
    root = Path(__file__).parent.parent / "checks" / OURS
    for path in root.rglob("*.py"):
        names = [n.name for n in ast.parse(path.read_text()).body if isinstance(n, ast.FunctionDef) and n.decorator_list]
        assert len(names) == (not path.name.startswith("_")), path
