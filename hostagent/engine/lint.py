"""Lint for the source of checks: a check is a pure function of facts, and reaches no host.

It finds mistakes and short cuts, with their line, before anything runs. It is no sandbox: a catalogue is code that its profile trusts,
and runs with the rights of hostagent; do not name one by an untrusted author in a profile. The lint ignores how long a check computes,
how much memory it takes, and what a value leads to at run time.
"""

import ast
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

#: Modules that a check may import, besides the pure ones of a domain; readers (``read_*``), engine, host and sandbox are forbidden.
ALLOWED_ROOTS = ("hostagent.check", "hostagent.profile", "hostagent.facts", "hostagent.core.tables")
_DOMAINS, _CLOSED = "hostagent.domains.", ("read_", "report")  # of a domain: what reads the host, and its part of the report
#: Modules below all of these, from which an allowed module may have names.
_BELOW = tuple(f"hostagent.core.{name}" for name in ("unread", "frozen", "join", "steps", "vocabulary", "text", "majority"))
ALLOWED_STDLIB = frozenset({"collections.abc", "itertools", "math", "re", "typing"})
#: They reach the host, names as texts, or classes and their creation; the last four end the run.
FORBIDDEN_NAMES = frozenset(
    {
        "__import__", "breakpoint", "compile", "copyright", "credits", "delattr", "dir", "eval", "exec", "exit", "getattr", "globals",
        "help", "input", "license", "locals", "open", "print", "quit", "setattr", "super", "type", "vars",
        "BaseException", "GeneratorExit", "KeyboardInterrupt", "SystemExit",
    }
)  # fmt: skip
#: They evaluate annotations that are texts.
_EVALUATES = frozenset({"ForwardRef", "evaluate_forward_ref", "get_type_hints"})
#: Attributes without two underscores that lead as far: to frames and their globals, to attributes named in a text, to base classes.
_LEADS_OUT = frozenset({"format", "format_map", "mro"})
_FRAMES = ("ag_", "co_", "cr_", "f_", "gi_", "tb_")
#: Classes whose patterns by position take the value itself.
_PLAIN = frozenset({"bool", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple"})
_OF_TYPES = (ast.Name, ast.Load, ast.Subscript, ast.Tuple, ast.List, ast.BinOp, ast.BitOr, ast.Constant)
Problems = Iterator[tuple[int, str]]


def lint(source: str) -> tuple[str, ...]:
    """Violations of a check module, with their lines. Raises ``SyntaxError`` and its kin for a source that is no Python."""
    return problems(ast.parse(source))


def problems(tree: ast.Module) -> tuple[str, ...]:
    """The same for a parsed module."""
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported = {(alias.asname or alias.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    inner = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    found = [problem for node in ast.walk(tree) for problem in (*_problems_of(node, imported), *_module_uses(node, modules, inner))]
    return tuple(f"line {line}: {what}" for line, what in sorted(found, key=lambda one: one[0]))


def _problems_of(node: ast.AST, imported: set[str]) -> Problems:
    if isinstance(node, ast.Import):
        yield from _import(node)
    elif isinstance(node, ast.ImportFrom):
        yield from _from(node)
    elif isinstance(node, ast.Name) and (node.id in FORBIDDEN_NAMES or node.id.startswith("__")):
        yield node.lineno, f"uses {node.id}"
    elif isinstance(node, ast.Attribute):
        if _leads_out(node.attr) or (isinstance(node.value, ast.Name) and node.value.id in imported and _is_inside(node.attr)):
            yield node.lineno, f"reaches for {node.attr}"
    elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield from _defined(node)
    elif isinstance(node, ast.MatchClass):
        yield from ((node.lineno, f"reaches for {name}") for name in node.kwd_attrs if _leads_out(name))
        if node.patterns and not (isinstance(node.cls, ast.Name) and node.cls.id in _PLAIN):
            yield node.lineno, f"takes {ast.unparse(node.cls)} apart by position"
    elif isinstance(node, ast.ExceptHandler) and node.type is None:
        yield node.lineno, "catches everything, the end of its time too: wanted 'except Exception' at most"
    elif isinstance(node, ast.arg | ast.AnnAssign):
        yield from _annotated(node.annotation)


def _import(node: ast.Import) -> Problems:
    for alias in node.names:
        if alias.name not in ALLOWED_STDLIB:
            yield node.lineno, f"imports {alias.name}"
        elif alias.asname:
            yield node.lineno, f"imports {alias.name} under another name"


def _from(node: ast.ImportFrom) -> Problems:
    """Refuses names that are modules or come from another module: ``from hostagent.profiles.profile import os``."""
    module = node.module or ""
    if not (_is_shared(node) if node.level else _allowed(module)):
        yield node.lineno, f"imports from {'.' * node.level}{module}"
        return
    public = None if node.level else _public(module)
    for alias in node.names:
        is_way_out = alias.name == "*" or alias.name.startswith("_") or alias.name in sys.stdlib_module_names
        if is_way_out or (public is not None and alias.name not in public):
            yield node.lineno, f"imports {alias.name} from {'.' * node.level}{module}"


def _is_shared(node: ast.ImportFrom) -> bool:
    """``from ._peers import alike``: helpers of a family are in modules with an underscore, in the same folder."""
    module = node.module or ""
    return node.level == 1 and module[:1] == "_" and module[:2] != "__" and "." not in module


def _allowed(module: str) -> bool:
    return module in ALLOWED_STDLIB or _is_ours(module)


def _is_ours(module: str) -> bool:
    if module.startswith(_DOMAINS):
        return not any(part.startswith(_CLOSED) for part in module.split("."))
    return any(module == root or module.startswith(root + ".") for root in ALLOWED_ROOTS)


def _public(module: str) -> frozenset[str]:
    """The names of an allowed module that a check may have."""
    try:
        imported = importlib.import_module(module)
    except ImportError:
        return frozenset()
    listed = getattr(imported, "__all__", None)
    if listed is not None:
        return frozenset(listed) - _EVALUATES
    return frozenset(name for name, value in vars(imported).items() if not name.startswith("_") and _is_of(value, imported))


def _is_of(value: object, module: ModuleType) -> bool:
    """Made in that module, or a plain value; not a module, nor a class or function from elsewhere but facts, domains and plain values."""
    if isinstance(value, ModuleType):
        return False
    home = str(getattr(value, "__module__", module.__name__) or module.__name__)
    return home == module.__name__ or home in _BELOW or _is_ours(home)


def _leads_out(attribute: str) -> bool:
    return attribute.startswith(("__", *_FRAMES)) or attribute in _LEADS_OUT


def _is_inside(attribute: str) -> bool:
    """``unread.sys``: what an imported thing imported itself."""
    return attribute.startswith("_") or attribute in sys.stdlib_module_names


def _defined(node: "ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef") -> Problems:
    if node.name.startswith("__"):
        yield node.lineno, f"defines {node.name}"
    if isinstance(node, ast.ClassDef):
        yield from ((node.lineno, f"makes a class with {keyword.arg or '**'}") for keyword in node.keywords)
    elif node.returns is not None:
        yield from _annotated(node.returns)


def _annotated(annotation: "ast.expr | None") -> Problems:
    """Refuses texts in annotations, which may be evaluated as code, but in a ``Literal``."""
    if annotation is None or (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) in {"Literal", "typing.Literal"}):
        return
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str) and not _is_type(annotation.value):
        yield annotation.lineno, "has an annotation in quotes that is no type"
    for child in ast.iter_child_nodes(annotation):
        if isinstance(child, ast.expr):
            yield from _annotated(child)


def _is_type(text: str) -> bool:
    """``str | Unread``, ``tuple[Gpu, ...]``: names, and the operators of types."""
    try:
        tree = ast.parse(text, mode="eval")
    except (SyntaxError, ValueError):
        return False
    names = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return all(isinstance(node, _OF_TYPES) for node in ast.walk(tree.body)) and not any(name.startswith("__") for name in names)


def _module_uses(node: ast.AST, modules: set[str], inner: set[int]) -> Problems:
    """Refuses modules as values, because the lint cannot follow them: ``x = re; x.enum.sys``."""
    if id(node) in inner or not isinstance(node, ast.Name | ast.Attribute):
        return
    path = _path(node)
    for module in modules:
        if path and path[0] == module.split(".")[0]:
            depth = len(module.split("."))
            if ".".join(path[:depth]) != module or len(path) == depth:
                yield node.lineno, f"hands on the module {module}"
            elif path[depth] not in _module_names(module):
                yield node.lineno, f"reaches for {path[depth]}"


def _path(node: ast.AST) -> tuple[str, ...]:
    """The names of ``a.b.c``; () where it does not begin with a name."""
    if isinstance(node, ast.Attribute):
        before = _path(node.value)
        return (*before, node.attr) if before else ()
    return (node.id,) if isinstance(node, ast.Name) else ()


def _module_names(module: str) -> frozenset[str]:
    return _public(module) if module in ALLOWED_STDLIB else frozenset()
