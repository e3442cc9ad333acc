"""The table of docs/dev/installer-coverage.md: what the installer does about each check of the families that it serves."""

import ast
import functools
import re
from pathlib import Path

from hostagent.engine import catalogue
from tests.over import over

ROOT = Path(__file__).parents[3]
FAMILIES = ("os", "kernel", "driver", "nvswitch", "toolkit", "runtime", "cdi")
ROW = re.compile(r"^\| `([a-z]+\.[a-z_]+)` \| ((step|refusal|not:) .+) \|$", re.MULTILINE)
ROWS = ROW.findall((ROOT / "docs/dev/installer-coverage.md").read_text(encoding="utf-8"))


@functools.cache
def words_of(folder: str) -> str:
    """All text constants of the modules below."""
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / folder).rglob("*.py")]
    constants = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return "\n".join(one for one in constants if isinstance(one, str))


def test_each_check_has_one_row():
    wanted = sorted(one.id for one in catalogue.load(("hostagent_checks",)) if one.id.partition(".")[0] in FAMILIES)
    assert sorted(check for check, _, _ in ROWS) == wanted


@over(("check", "told"), [(check, told) for check, told, kind in ROWS if kind != "not:"])
def test_what_a_row_names_is_in_the_code(check, told):
    """A step's id or a refusal's, as the modules of the plan write it."""
    for name in re.findall(r"\b(?:plan|driver|toolkit|runtime|repositories)\.[a-z-]+", told):
        last, words = name.removeprefix("plan."), words_of("hostagent/plan")
        head = last.rpartition("-")[0]
        assert any(one in words for one in (last, last.partition(".")[2], *((f"{head}-",) if head else ()))), name


def test_the_checks_that_steps_name_are_there():
    """A step's id has a dash where a check's has an underscore, or ends in what no check is called."""
    known = {one.id for one in catalogue.load(("hostagent_checks",))}
    named = {one for one in words_of("hostagent/plan").split("\n") if re.fullmatch(rf"({'|'.join(FAMILIES)})\.[a-z]+_[a-z_]+", one)}
    assert named
    assert named <= known
