"""Loads the catalogues that a profile names, and holds what their checks may do."""

import ast
import importlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from hostagent.check import UNTITLED, Check, Family
from hostagent.errors import HostagentError
from hostagent.profile import Loaded
from hostagent.vocabulary import CONDITIONS

OURS = "hostagent_checks"
_IMPORTS = (ast.Import, ast.ImportFrom)
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


def load(names: Iterable[str], readable: Collection[str] | None = None) -> tuple[Check, ...]:
    """The checks of the named catalogues, by id. Raises ``HostagentError``.

    `readable` names the classes of facts that some reader reads; with it, a check that takes another one is refused.
    """
    checks: dict[str, Check] = {}
    for name in names:
        found = [one for module, family in _modules(name) for one in _checks(module, name, family)]
        if not found:
            raise HostagentError(f"the profile names the catalogue {name!r}, which holds no check", "Take it out of 'catalogues'")
        checks |= {one.id: one for one in found}
    if readable is not None:
        _refuse_unreadable(checks.values(), readable)
    return tuple(checks[key] for key in sorted(checks))


def _refuse_unreadable(checks: Iterable[Check], readable: Collection[str]) -> None:
    """Such a check would be unknown on every host, and green in its own cases."""
    for one in checks:
        for kind in one.inputs.kinds:
            if kind.__name__ not in readable:
                raise HostagentError(
                    f"the check {one.id} takes the fact {kind.__name__}, which no reader reads",
                    "Write its reader and name it in READERS (hostagent/collect/__init__.py): see 'Add a fact' in CONTRIBUTING.md",
                )


def reading_order(checks: Iterable[Check]) -> tuple[str, ...]:
    """Ids in the order in which a reader is told of them: by the check's own order, else its family's; then by id."""
    return tuple(one.id for one in sorted(checks, key=lambda one: (one.order or one.family.order, one.id)))


def select(checks: tuple[Check, ...], only: Iterable[str]) -> tuple[Check, ...]:
    """Checks whose id or family is named. Raises ``HostagentError`` for a name that matches nothing."""
    wanted = tuple(only)
    for name in wanted:
        if not any(one.id == name or one.id.startswith(name + ".") for one in checks):
            raise HostagentError(f"found no check or family {name!r}", "Run 'hostagent checks list'")
    return tuple(one for one in checks if any(one.id == name or one.id.startswith(name + ".") for name in wanted))


def refuse_unknown_ids(checks: tuple[Check, ...], loaded: Loaded) -> Loaded:
    """A profile that turns off a check that does not exist means another one: say so. Where a layer says a newer schema than ours, it means
    a newer catalogue: such checks and parameters are left out of the profile that is returned, each with a warning.
    """
    known = {one.id: one for one in checks}
    for name, policy in loaded.profile.checks.items():
        if name in known:
            unknown = [param for param in policy.params if param not in known[name].inputs.thresholds]
            for param in unknown:
                loaded = loaded.without(name, param) if loaded.is_newer(f"checks.{name}.params.{param}") else loaded
        elif loaded.is_newer(f"checks.{name}"):
            loaded = loaded.without(name)
        else:
            import difflib

            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else "Run 'hostagent checks list'"
            where = loaded.origin(f"checks.{name}")
            raise HostagentError(f"profile {where}: checks names {name!r}, which no catalogue has", hint)
    return loaded


def _modules(name: str) -> Iterator[tuple[ModuleType, Family]]:
    for member in _members(_import(name, name), os.path.join("{}", "__init__.py")):
        package = _import(f"{name}.{member}", name)
        family = _family(package)
        for entry, path in _members(package, "{}.py").items():
            yield _import(f"{name}.{member}.{entry}", name, path), family


def _family(package: ModuleType) -> Family:
    family = getattr(package, "FAMILY", UNTITLED)
    if not isinstance(family, Family) or family.condition not in CONDITIONS:
        words = ", ".join(word or '""' for word in CONDITIONS)
        raise HostagentError(
            f"{package.__name__}: FAMILY is {family!r}, wanted a Family with one of the conditions {words}", "See CONTRIBUTING.md"
        )
    return family


def _members(package: ModuleType, form: str) -> dict[str, str]:
    """Names of the packages or modules of `package` with their files, but for those that the checks of a family share (``_name``).

    pkgutil lists the same in ten times the time: 4 ms of a start.
    """
    found = {entry.partition(".")[0]: path for path in getattr(package, "__path__", ()) for entry in os.listdir(path)}
    files = {name: os.path.join(found[name], form.format(name)) for name in sorted(found) if not name.startswith("_")}
    return {name: path for name, path in files.items() if os.path.exists(path)}


def _import(module: str, catalogue: str, path: str = "") -> ModuleType:
    try:
        if catalogue != OURS:
            _refuse_unlawful(module)
        return _load(module, path) if path and module not in sys.modules else importlib.import_module(module)
    except HostagentError:
        raise
    except Exception as error:  # whatever a third party's module does at import
        mend = "Install it beside hostagent" if isinstance(error, ImportError) else "Mend that module"
        raise HostagentError(
            f"the profile names the catalogue {catalogue!r}: {module} cannot be imported: {error}",
            f"{mend}, or take the catalogue out of 'catalogues'",
        ) from error


def _load(module: str, path: str) -> ModuleType:
    """Import a module from the file that was listed: looking for each of some hundred again costs a sixth of loading them."""
    spec = spec_from_file_location(module, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"no loader for {path}")
    loaded = sys.modules[module] = module_from_spec(spec)
    try:
        spec.loader.exec_module(loaded)
    except BaseException:
        del sys.modules[module]
        raise
    parent, _, name = module.rpartition(".")
    setattr(sys.modules[parent], name, loaded)
    return loaded


def _checks(module: ModuleType, catalogue: str, family: Family) -> Iterator[Check]:
    folder, stem = module.__name__.split(".")[-2:]
    for value in vars(module).values():
        if isinstance(value, Check):
            if value.id != stem:
                raise HostagentError(
                    f"{module.__name__}: the check's function is called {value.id!r}, wanted {stem!r}",
                    "Name the function as the file: the id is the family and the file",
                )
            prefix = "" if catalogue == OURS else f"{catalogue}."
            yield value._replace(id=f"{prefix}{folder}.{stem}", doc=module.__doc__ or value.doc, family=family)


def _refuse_unlawful(module: str) -> None:
    """Judge the source before anything of it runs. A private module is one file: a package could hold more."""
    for name, spec in _specs(module):
        if spec is None or not str(spec.origin).endswith(".py") or (name != module and spec.submodule_search_locations):
            raise HostagentError(
                f"found no Python source of the catalogue's {name}", "Install it beside hostagent, or take it out of 'catalogues'"
            )
        with open(str(spec.origin), encoding="utf-8") as stream:
            problems = lint(stream.read())
        if problems:
            raise HostagentError(
                f"refused the catalogue's {name}: {problems[0]}", "A check is a pure function of facts: see CONTRIBUTING.md"
            )


def _specs(module: str) -> Iterator[tuple[str, ModuleSpec | None]]:
    """Of the module, and with a package of the private modules in it: they run as soon as any module of it imports them."""
    from importlib.util import find_spec

    spec = find_spec(module)
    yield module, spec
    for place in (spec and spec.submodule_search_locations) or ():
        for name in sorted({entry.partition(".")[0] for entry in os.listdir(place) if entry.startswith("_")} - {"__init__", "__pycache__"}):
            if found := PathFinder.find_spec(name, [place]):
                yield f"{module}.{name}", found


def lint(source: str) -> tuple[str, ...]:
    """What a check module does that the law forbids: imports, names that reach the host, dunder attributes.

    A guard against slips and short cuts, not a sandbox: a catalogue is code that its profile trusts.
    """
    problems: list[str] = []
    tree = ast.parse(source)
    imported = {
        (alias.asname or alias.name).partition(".")[0] for node in ast.walk(tree) if isinstance(node, _IMPORTS) for alias in node.names
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            problems += [f"line {node.lineno}: imports {alias.name}" for alias in node.names if alias.name not in ALLOWED_STDLIB]
        elif isinstance(node, ast.ImportFrom):
            problems += _from(node)
        elif isinstance(node, ast.Name) and (node.id in FORBIDDEN_NAMES or node.id.startswith("__")):
            problems.append(f"line {node.lineno}: uses {node.id}")
        elif isinstance(node, ast.Attribute) and (node.attr.startswith("__") or _leads_out(node, imported)):
            problems.append(f"line {node.lineno}: reaches for {node.attr}")
    return tuple(problems)


def _from(node: ast.ImportFrom) -> Iterator[str]:
    """``from hostagent.profile import os`` would be a way out, and so would its `load`: of the profile only types are allowed."""
    if not (_is_shared(node) if node.level else _allowed(node.module or "")):
        yield f"line {node.lineno}: imports from {'.' * node.level}{node.module or ''}"
        return
    for alias in node.names:
        is_way_out = alias.name == "*" or alias.name.startswith("_") or alias.name in sys.stdlib_module_names
        if is_way_out or (node.module == "hostagent.profile" and not alias.name[0].isupper()):
            yield f"line {node.lineno}: imports {alias.name} from {node.module}"


def _is_shared(node: ast.ImportFrom) -> bool:
    """``from ._peers import alike``: what the checks of a family share stands beside them, in one module with an underscore."""
    module = node.module or ""
    return node.level == 1 and module[:1] == "_" and module[:2] != "__" and "." not in module


def _leads_out(node: ast.Attribute, imported: set[str]) -> bool:
    """``re.enum.sys``: the modules that an allowed module imports itself."""
    return isinstance(node.value, ast.Name) and node.value.id in imported and (node.attr in sys.stdlib_module_names or node.attr[0] == "_")


def _allowed(module: str) -> bool:
    return module in ALLOWED_STDLIB or any(module == root or module.startswith(root + ".") for root in ALLOWED_ROOTS)
