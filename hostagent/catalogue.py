"""Loads the catalogues that a profile names, and holds what their checks may do."""

import importlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType

from hostagent.check import UNTITLED, Check, Family
from hostagent.errors import HostagentError
from hostagent.profile import Loaded
from hostagent.vocabulary import CONDITIONS

OURS = "hostagent_checks"
#: Findings above one another that a reader still follows.
_MAX_CAUSES = 3


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
    _refuse_unknown(checks, "proved_by", "proved by")
    refuse_unclear_causes(checks)
    if readable is not None:
        _refuse_unreadable(checks.values(), readable)
    return tuple(checks[key] for key in sorted(checks))


def _refuse_unknown(checks: Mapping[str, Check], name: str, relation: str) -> None:
    """Of another catalogue that the profile names, too."""
    for one in checks.values():
        for other in getattr(one, name):
            if other not in checks or other == one.id:
                raise HostagentError(
                    f"the check {one.id} is {relation} {other!r}, wanted another check's id",
                    "See 'hostagent checks list', and mend it there",
                )


def refuse_unclear_causes(checks: Mapping[str, Check]) -> None:
    """A circle has no first cause, and nobody follows a long chain. Raises ``HostagentError``."""
    _refuse_unknown(checks, "because", "told under")
    chains: list[tuple[str, ...]] = [(one.id,) for one in checks.values() if one.because]
    while chains:
        chains = [(*chain, other) for chain in chains for other in checks[chain[-1]].because]
        for chain in chains:
            if len(chain) > _MAX_CAUSES + 1:
                raise HostagentError(
                    f"the check {chain[0]} is told under {', then under '.join(chain[1:])}: wanted at most {_MAX_CAUSES} in a row",
                    "Name the first cause alone in 'because'",
                )


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

    pkgutil lists the same in ten times the time: 4 ms of each start.
    """
    found = {entry.partition(".")[0]: path for path in getattr(package, "__path__", ()) for entry in os.listdir(path)}
    files = {name: os.path.join(found[name], form.format(name)) for name in sorted(found) if not name.startswith("_")}
    return {name: path for name, path in files.items() if os.path.exists(path)}


def _import(module: str, catalogue: str, path: str = "") -> ModuleType:
    if not catalogue.isidentifier():
        raise HostagentError(f"the profile names the catalogue {catalogue!r}, wanted the name of a package", "Take it out of 'catalogues'")
    try:
        if catalogue != OURS:
            from hostagent.lawful import import_lawfully

            return import_lawfully(module, catalogue)
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
            part = family.part if value.part is None else value.part
            yield value._replace(id=f"{prefix}{folder}.{stem}", doc=module.__doc__ or value.doc, family=family, part=part)
