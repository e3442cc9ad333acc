"""Judgement lives in the checks: how they say what they do not judge, and that facts and knowledge judge nothing."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
CHECKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "checks/hostagent_checks").rglob("*.py"))


def tree(path):
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def made(path):
    """The reason of each ``Unread`` that the module makes itself."""
    calls = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Unread"]
    return [ast.unparse(call.args[0]) for call in calls]


@pytest.mark.parametrize("path", CHECKS)
def test_a_check_that_does_not_apply_says_so_with_skip_and_invents_no_gap(path):
    """What a check was given and cannot judge is an error, and unknown; no other gap is a check's to make."""
    assert set(made(path)) <= {"'error'"}
