"""A list of words has one home, and whoever needs it imports it."""

import ast
from pathlib import Path

from hostagent.core.vocabulary import CONDITIONS, OUTCOMES, SCOPES, SEVERITIES, VERDICTS, Kind
from tests.over import over

ROOT = Path(__file__).parents[3] / "hostagent"
MODULES = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if path.name != "vocabulary.py")
LISTS = [set(words) - {""} for words in (OUTCOMES, SEVERITIES, SCOPES, VERDICTS, CONDITIONS, Kind.__args__)]


def collections(tree):
    """Line and words of every ``Literal[…]``, tuple, list and set that holds texts alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple | ast.List | ast.Set) and all(isinstance(one, ast.Constant) for one in node.elts):
            yield node.lineno, {one.value for one in node.elts} - {""}


@over("path", MODULES)
def test_no_module_repeats_a_list_of_words(path):
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert [(line, words) for line, words in collections(tree) if words in LISTS] == []


def test_the_check_of_that_sees_a_repeated_list():
    assert [words in LISTS for _, words in collections(ast.parse("x: Literal['', 'critical', 'warning', 'info']"))] == [True]
