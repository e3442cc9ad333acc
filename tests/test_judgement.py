"""Judgement lives in the checks: how they say what they do not judge, and that facts judge nothing."""

import ast
from pathlib import Path

from tests.over import over

ROOT = Path(__file__).parent.parent
CHECKS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "checks/hostagent_checks").rglob("*.py"))
SHARED = [path for path in CHECKS if path.rpartition("/")[2].startswith("_") and not path.endswith("__init__.py")]
FACTS = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "hostagent/facts").rglob("*.py") if path.name != "unread.py")


def tree(path):
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def names(path):
    """Every name that the module reads, one a use."""
    return [node.id for node in ast.walk(tree(path)) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]


def gaps(path):
    """The reason of each ``Unread`` that the module makes itself."""
    calls = [node for node in ast.walk(tree(path)) if isinstance(node, ast.Call) and ast.unparse(node.func) == "Unread"]
    return {ast.unparse(call.args[0]) for call in calls}


@over("path", CHECKS)
def test_a_check_that_does_not_apply_says_so_with_skip_and_invents_no_gap(path):
    """What a check was given and cannot judge is an error, and unknown; no other gap is a check's to make."""
    assert gaps(path) <= {"'error'"}


@over("path", FACTS)
def test_a_fact_ends_no_check(path):
    """It returns what it knows, or the gap. Whether that makes a check unknown, or not apply, is the check's to say."""
    assert not {"need", "UnreadError", "skip"} & set(names(path))


@over("path", SHARED)
def test_what_stands_in_a_shared_module_is_used_twice(path):
    """What one check alone uses stands in that check."""
    family = [other for other in CHECKS if other.rpartition("/")[0] == path.rpartition("/")[0]]
    used = [name for other in family for name in set(names(other))]
    public = {node.name for node in tree(path).body if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")}
    assert {name for name in public if used.count(name) < 2} == set()
