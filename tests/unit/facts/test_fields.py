"""Nothing is read from a host for nobody: each field of a fact is used by a check, by the report or by another reader."""

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
#: Who has this has all facts that it has, without naming their classes.
_VIEW = "hostagent.plan.view"
#: By name, since a reader uses no field that it fills.
READER = re.compile(r"hostagent\.domains\.\w+\.read_\w+")
#: What will use a field that nobody uses yet, or uses it out of a file.
WAITING = {
    "Driver.refcount": "the installer: a module that is in use is not unloaded",
    "InstalledPackage.automatic": "a rollback (hostagent/install/inverse.py), out of the state before the run",
    "RdmaPort.lid": "the gate: two ports of one subnet have no LID in common",
    "Rdma.driver_version": "the gate: nodes of one job have RDMA drivers of one version",
}


def fields(tree: ast.Module) -> Iterator[str]:
    """``Class.field`` of the frozen classes of one module, but for the field that names a subject: `evaluate` uses it in every finding."""
    for kind in tree.body:
        if isinstance(kind, ast.ClassDef) and any("frozen" in ast.unparse(one) for one in kind.decorator_list):
            keys = {ast.literal_eval(word.value) for word in ast.walk(kind) if isinstance(word, ast.keyword) and word.arg == "subject"}
            for row in kind.body:
                if isinstance(row, ast.AnnAssign) and isinstance(row.target, ast.Name) and "ClassVar" not in ast.unparse(row.annotation):
                    yield from () if row.target.id in keys else (f"{kind.name}.{row.target.id}",)


@functools.cache
def words(tree: ast.Module, *, by_name: bool) -> set[str]:
    """Attributes that are looked at; with `by_name` texts too, its own and its tables', for what hands names to ``getattr``. A constructor's keyword is neither."""
    found = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load)}
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    return found | texts if by_name else found


def imports(tree: ast.Module) -> set[str]:
    return {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def known(name: str, modules: dict[str, ast.Module]) -> set[str]:
    """The modules whose classes a module has: those that it imports, and those that its joins and what its family shares are made of."""
    found, waiting = {name}, [name]
    while waiting:
        family = waiting[-1].rpartition(".")[0]
        imported = {f"{family}.{one}" if one.startswith("_") else one for one in imports(modules[waiting.pop()])} - found
        found |= imported
        waiting += [one for one in imported if one in modules and one.startswith(("hostagent.domains.", f"{family}._"))]
    return found


def unused(modules: dict[str, ast.Module]) -> set[str]:
    """Fields whose name is looked at in no module that knows their class. By name alone: a field may hide behind one of the same name."""
    seen: dict[str, set[str]] = {}
    for name, tree in modules.items():
        if name.startswith(("hostagent.host", "hostagent.sandbox")):
            continue  # knows no facts
        imported = known(name, modules)
        imported |= imports(modules[_VIEW]) if imported & {_VIEW, "hostagent.plan.model"} else set()
        by_name = not name.startswith(("hostagent.facts", "hostagent_checks")) and not READER.fullmatch(name)
        tables = [modules[one] for one in imported if by_name and ".tables." in one and one in modules]
        for module in imported:
            seen.setdefault(module, set()).update(words(tree, by_name=by_name), *(words(one, by_name=True) for one in tables))
    facts = {name: tree for name, tree in modules.items() if name.startswith("hostagent.facts.")}
    return {field for name, tree in facts.items() for field in fields(tree) if field.partition(".")[2] not in seen[name]}


@pytest.fixture(scope="module")
def ours() -> set[str]:
    paths = {path: path.relative_to(ROOT) for path in (*ROOT.glob("hostagent/**/*.py"), *ROOT.glob("checks/**/*.py"))}
    parts = {path: short.with_suffix("").parts for path, short in paths.items()}
    names = {path: ".".join(one[1:] if one[0] == "checks" else one) for path, one in parts.items()}
    return unused({name: ast.parse(path.read_text(encoding="utf-8")) for path, name in names.items()})


def test_every_field_is_used(ours):
    assert ours - set(WAITING) == set(), "no check, report or other reader uses it: take it out, or name in WAITING what will use it"


def test_a_field_that_waits_still_waits(ours):
    assert set(WAITING) - ours == set(), "it is used: take it off the list"


def test_the_field_that_names_a_subject_is_used_and_its_other_fields_are_no_better_for_it():
    source = "@frozen(subject='name', called='disk')\nclass Disk:\n    name: str\n    free: int\n"
    assert unused({"hostagent.facts.disk": ast.parse(source)}) == {"Disk.free"}


def test_a_constructor_and_another_module_s_attribute_are_no_use():
    sources = {
        "hostagent.facts.disk": "@frozen\nclass Disk:\n    total: int\n    free: int\n    label: str\n    kind: str\n",
        "hostagent.domains.disk.read_disk": "from hostagent.facts.disk import Disk\ndef read(x): return Disk(total=x, free=x, label='label', kind=x)\n",
        "hostagent.engine.report": "from hostagent.facts.disk import Disk\nNAMES = ('kind',)\n",
        "hostagent_checks.host.space": "from hostagent.facts.disk import Disk\ndef space(disk: Disk): return disk.free\n",
        "hostagent_checks.host.other": "def other(one): return one.total\n",
    }
    assert unused({name: ast.parse(text) for name, text in sources.items()}) == {"Disk.total", "Disk.label"}


def test_what_a_join_is_made_of_is_used_by_the_checks_that_take_the_join():
    sources = {
        "hostagent.facts.disk": "@frozen\nclass Disk:\n    free: int\n    total: int\n    label: str\n",
        "hostagent.domains.disk.disks": "from hostagent.facts.disk import Disk\n",
        "hostagent_checks.host._disks": "from hostagent.domains.disk.disks import Disks\n",
        "hostagent_checks.host.space": "from hostagent.domains.disk.disks import Disks\ndef space(disks: Disks): return disks.all[0].free\n",
        "hostagent_checks.host.size": "from ._disks import Disks\ndef size(disks: Disks): return disks.all[0].total\n",
    }
    assert unused({name: ast.parse(text) for name, text in sources.items()}) == {"Disk.label"}
