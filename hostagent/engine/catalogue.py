"""Loads the catalogues that a profile names, and holds what their checks may do."""

import importlib
import os
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import TYPE_CHECKING, Any

from hostagent.core.errors import HostagentError, at_once, did_you_mean
from hostagent.core.typed import MAX_MISTAKES, Mistake, ShapeError
from hostagent.engine.check import UNTITLED, Check, Family, id_of
from hostagent.engine.inputs import thresholds
from hostagent.profiles.profile import Loaded, refuse_mistakes

if TYPE_CHECKING:
    from hostagent.profiles.mistakes import ProfileError
from hostagent.core.vocabulary import CONDITIONS

OURS = "hostagent_checks"
#: Findings above one another that a reader still follows.
_MAX_CAUSES = 3


def explaining(checks: Iterable[Check]) -> dict[str, frozenset[str]]:
    """By topic of a job's log the ids of the checks whose findings explain it.

    >>> sorted(explaining(load([OURS]))["versions"])
    ['nccl.versions']
    """
    found: dict[str, set[str]] = {}
    for one in checks:
        for topic in one.explains:
            found.setdefault(topic, set()).add(one.id)
    return {topic: frozenset(ids) for topic, ids in found.items()}


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
        for other in map(id_of, getattr(one, name)):
            if other not in checks or other == one.id:
                raise HostagentError(
                    f"the check {one.id} is {relation} {other!r}, wanted another check's id",
                    "See 'hostagent checks list', and correct it there",
                )


def refuse_unclear_causes(checks: Mapping[str, Check]) -> None:
    """A circle has no first cause, and nobody follows a long chain; one finding of a check (ID:CODE) ends one, and is not counted.

    Raises ``HostagentError``.
    """
    _refuse_unknown(checks, "because", "told under")
    chains: list[tuple[str, ...]] = [(one.id,) for one in checks.values() if one.because]
    while chains:
        chains = [(*chain, other) for chain in chains for other in checks[id_of(chain[-1])].because]
        for chain in chains:
            if sum(":" not in name for name in chain) > _MAX_CAUSES + 1 or len(chain) > 2 * _MAX_CAUSES:
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
                    "Write its reader and name it in READERS (hostagent/engine/collect.py): see 'Add a fact' in CONTRIBUTING.md",
                )


def reading_order(checks: Iterable[Check]) -> tuple[str, ...]:
    """Ids in the order in which a reader is told of them: by the check's own order, else its family's; then by id."""
    return tuple(one.id for one in sorted(checks, key=lambda one: (one.order or one.family.order, one.id)))


def select(checks: tuple[Check, ...], only: Iterable[str]) -> tuple[Check, ...]:
    """Checks whose id or family is named. Raises ``HostagentError`` for names that match nothing."""
    wanted, names = tuple(only), names_of(checks)
    unknown = [name for name in dict.fromkeys(wanted) if name not in names]
    if unknown:
        texts = [no_such_check(name, names, "check or family") for name in unknown]
        message, details = at_once(texts, "found {} names that no check and no family has:")
        raise HostagentError(message, "Run 'hostagent checks list'", details)
    return tuple(one for one in checks if any(one.id == name or one.id.startswith(name + ".") for name in wanted))


def names_of(checks: Iterable[Check]) -> tuple[str, ...]:
    """The families and the checks, as `select` takes them."""
    ids = [one.id for one in checks]
    families = {one[:at] for one in ids for at, letter in enumerate(one) if letter == "."}
    return (*sorted(families), *ids)


def no_such_check(name: str, names: Iterable[str], what: str = "check") -> str:
    """What to say of a name that is none of `names`.

    >>> no_such_check("gpu.xdi", ["gpu", "gpu.xid"]), no_such_check("gpu.*", ["gpu", "gpu.xid"])
    ('no check gpu.xdi; did you mean gpu.xid?', "no check 'gpu.*': patterns are not supported; name each check")
    """
    if any(letter in name for letter in "*?["):
        family = name.partition(".")[0]
        instead = f", or the family {family}" if "family" in what and family in names else ""
        return f"no {what} {name[:60]!r}: patterns are not supported; name each check{instead}"
    if what == "check" and name in names:
        return f"no check {name}: it is a family; name each check"
    shown = name if name.isprintable() and name and len(name) <= 60 else f"{name[:60]!r}"
    return f"no {what} {shown}{did_you_mean(name, names)}"


def refuse_unknown_ids(checks: tuple[Check, ...], loaded: Loaded) -> Loaded:
    """A profile that turns off a check that does not exist means another one: say so, as of a parameter that does not exist or is of
    another type. Where a layer says a newer schema than ours, it means a newer catalogue: such checks and parameters are left out of the
    profile that is returned, each with a warning. Raises ``ProfileError`` with all of them.
    """
    known, names = {one.id: one for one in checks}, tuple[str, ...]()
    mistakes: list[Mistake] = []
    for name, policy in loaded.profile.checks.items():
        if len(mistakes) >= MAX_MISTAKES:
            break
        if name not in known:
            if loaded.is_newer(f"checks.{name}"):
                loaded = loaded.without(name)
            else:
                names = names or names_of(checks)
                mistakes.append(Mistake(("checks", name), no_such_check(name, names)))
            continue
        for param, value in policy.params.items():
            path = ("checks", name, "params", param)
            if param not in known[name].inputs.thresholds and loaded.is_newer(".".join(path)):
                loaded = loaded.without(name, param)
            else:
                mistakes += [one._replace(path=(*path, *one.path)) for one in _wrong_threshold(known[name], param, value)]
    loaded, wrong = _quarantine(known, loaded)
    refuse_mistakes(loaded, (), (*mistakes, *wrong))
    return loaded


def _quarantine(known: Mapping[str, Check], loaded: Loaded) -> tuple[Loaded, list[Mistake]]:
    """The same of the checks that set the comment of a node."""
    listed = loaded.profile.quarantine
    unknown = {name: number for number, name in enumerate(listed) if name not in known}
    if not unknown:
        return loaded, []
    if not loaded.is_newer("quarantine"):
        names = names_of(tuple(known.values()))
        return loaded, [Mistake(("quarantine", number), no_such_check(name, names)) for name, number in unknown.items()][:MAX_MISTAKES]
    layer = loaded.origin("quarantine")
    told = (f"profile {layer}: quarantine: {name:.60} is ignored: no catalogue that is installed has it" for name in unknown)
    kept = tuple(name for name in listed if name in known)
    return loaded._replace(profile=replace(loaded.profile, quarantine=kept), warnings=(*loaded.warnings, *told)), []


def with_unknown_ids(error: "ProfileError") -> "ProfileError":
    """The same mistakes, and those in what the profile says of our checks. No other catalogue is imported for that."""
    from hostagent.profiles.mistakes import ProfileError

    loaded = error.rest
    if loaded is None or OURS not in loaded.profile.catalogues:
        return error
    try:
        refuse_unknown_ids(load([OURS]), without_catalogues(loaded, [name for name in loaded.profile.catalogues if name != OURS]))
    except ProfileError as more:
        known = {(one.layer, one.key) for one in error.places}
        return ProfileError((*error.places, *(one for one in more.places if (one.layer, one.key) not in known)), loaded)
    return error


def without_catalogues(loaded: Loaded, names: Collection[str]) -> Loaded:
    """Without what is said of the checks of these catalogues, whose ids begin with their names."""
    ours = {name: policy for name, policy in loaded.profile.checks.items() if name.partition(".")[0] not in names}
    listed = tuple(name for name in loaded.profile.quarantine if name.partition(".")[0] not in names)
    return loaded._replace(profile=replace(loaded.profile, checks=ours, quarantine=listed))


def _wrong_threshold(one: Check, param: str, value: Any) -> tuple[Mistake, ...]:
    """With paths from the parameter on."""
    names = one.inputs.thresholds
    if param not in names:
        wanted = f", wanted one of {', '.join(names)}" if names else f": {one.id} has none"
        return (Mistake((), f"no such parameter{did_you_mean(param, names) or wanted}"),)
    try:
        thresholds(one.inputs, {param: value}, "")
    except ShapeError as error:
        return error.mistakes or (Mistake((), str(error).removeprefix(f".{param}: ")),)
    return ()


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
            from hostagent.engine.catalogue_import import import_lawfully

            return import_lawfully(module)
        return _load(module, path) if path and module not in sys.modules else importlib.import_module(module)
    except HostagentError:
        raise
    except Exception as error:  # whatever a third party's module does at import
        from hostagent.core.installation import module_step

        mend = module_step(catalogue) if isinstance(error, ImportError) else "Mend that module"
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
