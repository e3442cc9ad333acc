"""A boundary (of a version, a model, a branch) is compared in a function of the module that has the table, never in a check."""

import ast
import re
from pathlib import Path

import pytest

from tests.docs import ROOT

CHECKS = sorted(Path(ROOT, "checks", "hostagent_checks").rglob("*.py"))
#: Values that a boundary is about, by the last word of what holds or computes them.
_VALUE = re.compile(r"(?:^|_)(?:version|release|branch|generation|architecture|capability|device_id|compare_\w+|parse_version)$")
_ORDERS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def comparisons(source):
    """Lines of a check's source that compare such a value with a boundary."""
    tree = ast.parse(source)
    constants = {alias.asname or alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    constants |= {
        target.id for node in tree.body if isinstance(node, ast.Assign) for target in node.targets if isinstance(target, ast.Name)
    }
    bounds = {name for name in constants if re.fullmatch(r"_?[A-Z][A-Z0-9_]*", name)}
    tables = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and ".tables" in (node.module or "")
        for alias in node.names
    } & bounds
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and getattr(node.func, "id", "") == "satisfies"
            and not isinstance(node.args[1], ast.Name | ast.Attribute)
        ):
            if not isinstance(node.args[1], ast.Call):  # another form of the profile's own constraint
                yield node.lineno
        elif isinstance(node, ast.Compare):
            sides = (node.left, *node.comparators)
            is_ordered = any(isinstance(op, _ORDERS) for op in node.ops)
            named = {one.id for side in sides for one in ast.walk(side) if isinstance(one, ast.Name)}
            if (is_ordered and named & tables) or (
                any(_is_value(side) for side in sides) and any(_is_bound(side, bounds, is_ordered) for side in sides)
            ):
                yield node.lineno


def _is_value(node):
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name.startswith("compare_") and len(node.args) == 2:  # of two plain names it compares two values of the host
            return not isinstance(node.args[1], ast.Name) or node.args[1].id.lstrip("_").isupper()
        if name in ("need", "int", "tuple", "str") and node.args:
            return _is_value(node.args[0])
        return bool(_VALUE.search(name)) or (name in ("partition", "split", "startswith", "lower") and _is_value(node.func.value))
    if isinstance(node, ast.NamedExpr):
        return _is_value(node.value) or _is_value(node.target)
    if isinstance(node, ast.Subscript):
        return _is_value(node.value)
    if isinstance(node, ast.Attribute):
        return bool(_VALUE.search(node.attr))
    return isinstance(node, ast.Name) and bool(_VALUE.search(node.id))


def _is_bound(node, bounds, is_ordered):
    if isinstance(node, ast.Constant):
        return (isinstance(node.value, str) and bool(re.search(r"\d", node.value))) or (is_ordered and isinstance(node.value, int))
    if isinstance(node, ast.Tuple | ast.Set | ast.List):
        return any(_is_bound(one, bounds, True) for one in node.elts)
    if isinstance(node, ast.Attribute):
        return node.attr.startswith(("min_", "max_", "first_", "last_", "since")) or _is_bound(node.value, bounds, is_ordered)
    return isinstance(node, ast.Name) and node.id in bounds


@pytest.mark.parametrize(
    "line",
    [
        "need(kubelet.version) >= (1, 31)",
        "host.version() < DYNAMIC_GID",
        "compare_deb(version, known.version) < 0",
        'release in ("8", "9")',
        'gpu.device_id == "0x2330"',
        "architecture(need(gpu.device_id)) in COHERENT",
        'version.partition(".")[0] in ("8", "9")',
        "need(runtime.config_version) < 2",
        "(found or NEWEST) >= DYNAMIC_GID",
        'satisfies(version, f">={first}")',
    ],
)
def test_a_comparison_with_a_boundary_is_found(line):
    source = f"from hostagent.domains.nccl.tables.changes import COHERENT, DYNAMIC_GID\n\ndef f():\n    return {line}\n"
    assert list(comparisons(source)) == [4]


@pytest.mark.parametrize(
    "line",
    [
        "driver.version == kernel.version",
        "library.version == module",
        'version == ""',
        "len(versions) > 1",
        "branch(a) == branch(b)",
        "count > 5",
    ],
)
def test_a_comparison_of_two_values_of_a_host_is_none(line):
    assert list(comparisons(f"x = {line}\n")) == []


def test_no_check_compares_a_boundary_itself():
    assert [f"{path.relative_to(ROOT)}:{line}" for path in CHECKS for line in comparisons(path.read_text())] == []
