"""Imports a catalogue of third parties: each module once its source is linted, and its owner is one that this process obeys."""

import ast
import importlib
import os
from collections.abc import Iterator
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from types import ModuleType

from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import NotOwnError, read_small, reason, refuse_others
from hostagent.engine.lint import problems
from hostagent.profiles.files import trusted_owners

_MAX_BYTES = 256 * 1024


def import_lawfully(module: str) -> ModuleType:
    """The module, imported now or before. Raises ``HostagentError`` for a source that is not lawful, and whatever the module raises."""
    for name, spec in _specs(module):
        if spec is None or (name != module and spec.submodule_search_locations):
            raise _no_source(name)
        _refuse_unlawful(name, str(spec.origin), spec.cached or "")
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


def _refuse_unlawful(name: str, path: str, compiled: str) -> None:
    """Raises ``HostagentError``. `compiled`: what the import system runs instead of `path` where it is there."""
    if not path.endswith(".py"):
        raise _no_source(name)
    try:
        source = read_small(path, _MAX_BYTES, trusted_owners())
        if trusted_owners() and os.path.lexists(compiled):
            refuse_others(compiled, trusted_owners())
    except NotOwnError as error:
        raise HostagentError(
            f"refused the catalogue's {name}: {reason(error)}", "What root obeys only root may write: install it as root"
        ) from error
    except OSError as error:
        raise HostagentError(
            f"refused the catalogue's {name}: {path}: {reason(error)}", "Install it again, or take it out of 'catalogues'"
        ) from error
    found = problems(ast.parse(source, path))  # bytes: decoded as the import system does
    if found:
        raise HostagentError(f"refused the catalogue's {name}: {found[0]}", "A check is a pure function of facts: see CONTRIBUTING.md")


def _no_source(name: str) -> HostagentError:
    from hostagent.core.installation import module_step

    step = f"{module_step(name.partition('.')[0])}, or take it out of 'catalogues'"
    return HostagentError(f"found no Python source of the catalogue's {name}", step)
