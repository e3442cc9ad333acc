"""Loads the catalogues that a profile names, and holds what their checks may do."""

import ast
import importlib
import os
import pkgutil
from collections.abc import Iterable, Iterator
from types import ModuleType

from hostagent.check import Check
from hostagent.errors import HostagentError
from hostagent.profile import Profile

OURS = "hostagent_checks"
#: What the module of a check may import. The engine's collectors and sources are out of its reach.
ALLOWED_ROOTS = ("hostagent.check", "hostagent.facts", "hostagent.profile", "hostagent.knowledge")
ALLOWED_STDLIB = frozenset({"collections.abc", "itertools", "math", "re", "typing"})
FORBIDDEN_NAMES = frozenset(
    {
        "__import__",
        "breakpoint",
        "compile",
        "delattr",
        "eval",
        "exec",
        "getattr",
        "globals",
        "input",
        "locals",
        "open",
        "print",
        "setattr",
        "vars",
    }
)


def load(names: Iterable[str]) -> tuple[Check, ...]:
    """The checks of the named catalogues, by id. Raises ``HostagentError``."""
    checks: dict[str, Check] = {}
    for name in names:
        package = _import(name)
        for module in _modules(package, name):
            if name != OURS:
                _refuse_unlawful(module)
            for one in _checks(module, name):
                checks[one.id] = one
    return tuple(checks[key] for key in sorted(checks))


def select(checks: tuple[Check, ...], only: Iterable[str]) -> tuple[Check, ...]:
    """Checks whose id or family is named. Raises ``HostagentError`` for a name that matches nothing."""
    wanted = tuple(only)
    for name in wanted:
        if not any(one.id == name or one.id.startswith(name + ".") for one in checks):
            raise HostagentError(f"found no check or family {name!r}", "Run 'hostagent checks list'")
    return tuple(one for one in checks if any(one.id == name or one.id.startswith(name + ".") for name in wanted))


def refuse_unknown_ids(checks: tuple[Check, ...], profile: Profile) -> None:
    """A profile that turns off a check that does not exist means another one: say so."""
    known = {one.id for one in checks}
    for name in profile.checks:
        if name not in known:
            import difflib

            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else "Run 'hostagent checks list'"
            raise HostagentError(f"profile {profile.name}: checks names {name!r}, which no catalogue has", hint)


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise HostagentError(
            f"the profile names the catalogue {name!r}, which cannot be imported: {error}",
            "Install it beside hostagent, or take it out of 'catalogues'",
        ) from error


def _modules(package: ModuleType, name: str) -> Iterator[ModuleType]:
    for family in pkgutil.iter_modules(package.__path__):
        if family.ispkg:
            path = [os.path.join(root, family.name) for root in package.__path__]
            for entry in pkgutil.iter_modules(path):
                try:
                    yield importlib.import_module(f"{name}.{family.name}.{entry.name}")
                except Exception as error:  # whatever a third party's module does at import
                    raise HostagentError(
                        f"the check {name}.{family.name}.{entry.name} cannot be imported: {error}", "Mend or remove it"
                    ) from error


def _checks(module: ModuleType, catalogue: str) -> Iterator[Check]:
    family, stem = module.__name__.split(".")[-2:]
    for value in vars(module).values():
        if isinstance(value, Check):
            if value.id != stem:
                raise HostagentError(
                    f"{module.__name__}: the check's function is called {value.id!r}, wanted {stem!r}",
                    "Name the function as the file: the id is the family and the file",
                )
            prefix = "" if catalogue == OURS else f"{catalogue}."
            yield value._replace(id=f"{prefix}{family}.{stem}", doc=module.__doc__ or value.doc)


def _refuse_unlawful(module: ModuleType) -> None:
    with open(str(module.__file__), encoding="utf-8") as stream:
        problems = lint(stream.read())
    if problems:
        raise HostagentError(f"{module.__name__}: {problems[0]}", "A check is a pure function of facts: see CONTRIBUTING.md")


def lint(source: str) -> tuple[str, ...]:
    """What a check module does that the law forbids: imports, names that reach the host, dunder attributes."""
    problems: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            problems += [f"line {node.lineno}: imports {alias.name}" for alias in node.names if not _allowed(alias.name)]
        elif isinstance(node, ast.ImportFrom):
            if node.level or not _allowed(node.module or ""):
                problems.append(f"line {node.lineno}: imports from {'.' * node.level}{node.module or ''}")
        elif isinstance(node, ast.Name) and node.id in FORBIDDEN_NAMES:
            problems.append(f"line {node.lineno}: uses {node.id}")
        elif isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            problems.append(f"line {node.lineno}: reaches for {node.attr}")
    return tuple(problems)


def _allowed(module: str) -> bool:
    return module in ALLOWED_STDLIB or any(module == root or module.startswith(root + ".") for root in ALLOWED_ROOTS)
