"""Imports a catalogue of third parties: each module from the very source that was judged, and nothing of it before.

The import system would take compiled code that is next to a source, and decode a source by its own word; both may say something else than
what was read here.
"""

import ast
import importlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from types import CodeType, ModuleType

from hostagent.errors import HostagentError
from hostagent.lint import problems
from hostagent.profiles.files import obeyed
from hostagent.smallfile import NotOwnError, read_small, reason

_MAX_BYTES = 256 * 1024


def import_lawfully(module: str, catalogue: str) -> ModuleType:
    """The module, imported now or before. Raises ``HostagentError`` for a source that is not lawful, and whatever the module raises."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.catalogues.add(catalogue)
    for name, spec in _specs(module):
        if spec is None or (name != module and spec.submodule_search_locations):
            raise _no_source(name)
        _judged(name, str(spec.origin))
    return importlib.import_module(module)


def _specs(module: str) -> Iterator[tuple[str, ModuleSpec | None]]:
    """Of the module, and with a package of the private modules in it: they run as soon as any module of it imports them. A private module
    is one file: a package could hold more.
    """
    spec = find_spec(module)
    yield module, spec
    for place in (spec and spec.submodule_search_locations) or ():
        for name in sorted({entry.partition(".")[0] for entry in os.listdir(place) if entry.startswith("_")} - {"__init__", "__pycache__"}):
            if found := PathFinder.find_spec(name, [place]):
                yield f"{module}.{name}", found


def _judged(name: str, path: str) -> ast.Module:
    """The module as it may run."""
    if not path.endswith(".py"):
        raise _no_source(name)
    try:
        source = read_small(path, _MAX_BYTES, obeyed())
    except NotOwnError as error:
        raise HostagentError(
            f"refused the catalogue's {name}: {reason(error)}", "What root obeys only root may write: install it as root"
        ) from error
    except OSError as error:
        raise HostagentError(
            f"refused the catalogue's {name}: {path}: {reason(error)}", "Install it again, or take it out of 'catalogues'"
        ) from error
    tree = ast.parse(source.decode("utf-8"), path)
    found = problems(tree)
    if found:
        raise HostagentError(f"refused the catalogue's {name}: {found[0]}", "A check is a pure function of facts: see CONTRIBUTING.md")
    return tree


def _no_source(name: str) -> HostagentError:
    from hostagent.installation import module_step

    step = f"{module_step(name.partition('.')[0])}, or take it out of 'catalogues'"
    return HostagentError(f"found no Python source of the catalogue's {name}", step)


class _Finder:
    """Stands before the others, for what belongs to a catalogue."""

    def __init__(self) -> None:
        self.catalogues: set[str] = set()

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name.partition(".")[0] not in self.catalogues:
            return None
        for other in sys.meta_path:
            found = None if other is self else other.find_spec(name, path, target)
            if found is not None:
                found.loader = _Loader(name, str(found.origin))
                return found
        return None


class _Loader(SourceFileLoader):
    """Runs what was judged."""

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = compile(_judged(fullname, self.path), self.path, "exec", dont_inherit=True)
        return code


_FINDER = _Finder()
