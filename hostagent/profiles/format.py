"""Validates one layer of a profile against this version's format: its schema version, renamed keys, keys of newer versions, and
impossible values.

Pure: mistakes and warnings are returned.
"""

# A parameter that is a list of whole numbers is a list; text with commas, as older profiles have it, is read too. `install: ""`
# says none; an `install` version that its own `version` refuses is a mistake, also where one of them is inherited.

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from hostagent.core.typed import MAX_MISTAKES, Mistake, ShapeError, build, dotted
from hostagent.profiles.install import impossible_installs
from hostagent.profiles.rdma import impossible_ports

if TYPE_CHECKING:
    from hostagent.facts.version import Wish

#: Version of the profile format. A new key increments the minor; a change that an older agent would misread, the major.
SCHEMA_VERSION, SCHEMA_MINOR = 1, 6
OURS = f"{SCHEMA_VERSION}.{SCHEMA_MINOR}"
#: ``schema_version`` as text: our major, any minor.
VERSION_PATTERN = rf"{SCHEMA_VERSION}\.(0|[1-9][0-9]{{0,8}})"
_MAX_CHECKS, _MAX_CATALOGUES, _MAX_PODS, _MAX_QUARANTINE = 2000, 64, 64, 64
_MAX_VALID_FOR_S = 315_360_000
_PCI = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_CPUS = re.compile(r"[0-9]{1,9}m|[0-9]{1,9}(\.[0-9]{1,3})?")
_MEMORY = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?([kMGT]|[KMGT]i)|[0-9]{1,18}")
_CUDA = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){0,3}")
_NO_CUDA = '"{}" is no version of CUDA, such as "13.0": packages are named by it'
_SHAPE = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,62}")
_ADDRESS = re.compile(r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):([1-9][0-9]{0,4})")
_POLICY_KEYS = ("off", "severity", "params", "except")


class Rename(NamedTuple):
    """A renamed key. Paths are dotted, from the top: ``gpus.mig``, ``checks.gpu.temperature.params.margin``."""

    old: str
    new: str
    until: str  # the first version of hostagent that reads only the new name


#: Oldest first. A test fails for overdue ones.
RENAMES: tuple[Rename, ...] = ()


class CheckedLayer(NamedTuple):
    """A layer without unknown keys and invalid values, with current names; its ``schema_version`` is our major."""

    data: dict[str, Any]
    is_newer: bool  # its schema minor is newer than ours
    warnings: tuple[str, ...]  # one sentence per key, without the layer's name
    mistakes: tuple[Mistake, ...]  # with the names in the layer


def check_layer(kind: type, data: Mapping[str, Any], renames: tuple[Rename, ...]) -> CheckedLayer:
    """The valid part of a layer, by the fields of `kind`, and the mistakes in the rest."""
    try:
        is_newer = _minor(data.get("schema_version", SCHEMA_VERSION)) > SCHEMA_MINOR
        today, renamed = _rename({**data, "schema_version": SCHEMA_VERSION} if "schema_version" in data else dict(data), renames)
    except ShapeError as error:
        return CheckedLayer({}, False, (), error.mistakes)
    ignored: list[tuple[Any, ...]] = []
    mistakes: tuple[Mistake, ...] = ()
    try:
        build(kind, today, "", missing=lambda _: None, unknown=ignored.append if is_newer else None)
    except ShapeError as error:
        mistakes = error.mistakes
    sentences = (
        *(_new_name(one) for one in renamed),
        *(f"{dotted(path)} is ignored: profile schema {OURS}, which this hostagent reads, does not have it" for path in ignored),
    )
    # checking stopped: there may be more mistakes
    left = {} if len(mistakes) >= MAX_MISTAKES else _without(today, {*ignored, *(one.path for one in mistakes)})
    return CheckedLayer(left, is_newer, sentences, tuple(_under_old_name(one, renamed) for one in mistakes))


def _minor(version: object) -> int:
    """The minor of a ``schema_version``: 0 of the whole number 1, 3 of the text "1.3"."""
    if version == SCHEMA_VERSION and type(version) is int:
        return 0
    found = re.fullmatch(VERSION_PATTERN, version) if isinstance(version, str) else None
    if found:
        return int(found[1])
    hint = " in quotes: the number 1.10 is 1.1" if isinstance(version, float) else ""
    problem = f'schema_version is {version!r:.60}, wanted {SCHEMA_VERSION} or a text such as "{OURS}"{hint}'
    raise ShapeError(problem, (Mistake(("schema_version",), problem, version),))


def _rename(data: dict[str, Any], renames: tuple[Rename, ...]) -> tuple[dict[str, Any], list[Rename]]:
    applied = []
    for one in renames:
        old, new = keys(one.old), keys(one.new)
        if not _holds(data, old):
            continue
        if _holds(data, new):
            problem = f"found both {one.old} and {one.new}, which is its name today: wanted {one.new} alone"
            raise ShapeError(problem, (Mistake(old, problem),))
        data = _move(data, old, new)
        applied.append(one)
    return data, applied


def _new_name(one: Rename) -> str:
    return f"{one.old} is called {one.new} today: the old name works until hostagent {one.until}"


def _under_old_name(mistake: Mistake, renamed: list[Rename]) -> Mistake:
    """The mistake with the key's name in the file, and its current name."""
    for one in reversed(renamed):
        new = keys(one.new)
        if mistake.path[: len(new)] == new:
            problem = f"{mistake.problem} ({_new_name(one)})"
            mistake = mistake._replace(path=(*keys(one.old), *mistake.path[len(new) :]), problem=problem)
    return mistake


def keys(path: str) -> tuple[str, ...]:
    """The keys of a dotted path. A check's id has dots itself: it ends before the first word of its policy.

    >>> keys("gpus.mig"), keys("checks.gpu.temperature.params.margin")
    (('gpus', 'mig'), ('checks', 'gpu.temperature', 'params', 'margin'))
    """
    first, *rest = path.split(".")
    if first != "checks" or not rest:
        return (first, *rest)
    end = next((number for number, word in enumerate(rest) if word in _POLICY_KEYS), len(rest))
    return (first, ".".join(rest[:end]), *rest[end:])


def _holds(data: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True


def _move(data: dict[str, Any], old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, Any]:
    """A copy with the value of `old` at `new`. A key of `new` that holds no mapping stays, and is rejected later."""
    from copy import deepcopy

    copy = deepcopy(data)
    source = target = copy
    for key in old[:-1]:
        source = source[key]
    value = source.pop(old[-1])
    for key in new[:-1]:
        target = target.setdefault(key, {})
        if not isinstance(target, dict):
            return copy
    target[new[-1]] = value
    return copy


def _without(data: dict[Any, Any], dropped: Collection[tuple[Any, ...]], path: tuple[Any, ...] = ()) -> dict[Any, Any]:
    """Without the values at these paths; without the whole list where one of its items is among them."""
    if not dropped:
        return data
    of_lists = {one[:number] for one in dropped for number, key in enumerate(one) if number and type(key) is int}
    return {
        key: _without(value, dropped, (*path, key)) if isinstance(value, dict) else value
        for key, value in data.items()
        if (*path, key) not in dropped and (isinstance(value, dict) or (*path, key) not in of_lists)
    }


def impossible(profile: Any) -> Iterator[Mistake]:
    """Values of a merged `hostagent.profiles.profile.Profile` that no host can meet, or that contradict each other."""
    yield from _constraints(profile)
    for check_id, policy in profile.checks.items():
        if "" in policy.excepted:
            yield Mistake(("checks", check_id, "except"), "found an empty text, wanted the subjects that a report names")
        for name, value in policy.params.items():
            if not _is_plain(value):
                problem = f"found {value!r:.60}, wanted texts, finite numbers, true or false"
                yield Mistake(("checks", check_id, "params", name), problem)
    if len(profile.catalogues) > _MAX_CATALOGUES:
        yield Mistake(("catalogues",), f"found {len(profile.catalogues)} of them, wanted at most {_MAX_CATALOGUES}")
    if len(profile.checks) > _MAX_CHECKS:
        yield Mistake(("checks",), f"found {len(profile.checks)} of them, wanted at most {_MAX_CHECKS}")
    if len(profile.quarantine) > _MAX_QUARANTINE:
        yield Mistake(("quarantine",), f"found {len(profile.quarantine)} of them, wanted at most {_MAX_QUARANTINE}")
    named = profile.gpus.passthrough if isinstance(profile.gpus.passthrough, tuple) else ()
    for wrong in [one for one in named if not _PCI.fullmatch(one)][:1]:
        yield Mistake(("gpus", "passthrough"), f"found {wrong!r:.60}, wanted PCI addresses such as 0000:1b:00.0")
    if profile.gpus.count < 0:
        yield Mistake(("gpus", "count"), f"found {profile.gpus.count!r:.60}, wanted 0 or more")
    yield from _pods(profile.pods)
    yield from _configz(profile.kubelet.configz)
    yield from impossible_ports(profile.rdma)
    yield from impossible_installs(profile.install)
    if profile.topology.cpu_nodes_per_package < 0:
        problem = f"found {profile.topology.cpu_nodes_per_package!r:.60}, wanted 0 (any) or more"
        yield Mistake(("topology", "cpu_nodes_per_package"), problem)
    if not 0 < profile.report.valid_for_s <= _MAX_VALID_FOR_S:
        problem = f"found {profile.report.valid_for_s!r:.60}, wanted seconds above 0, at most {_MAX_VALID_FOR_S} (10 years)"
        yield Mistake(("report", "valid_for_s"), problem)


def _pods(pods: Mapping[str, Any]) -> Iterator[Mistake]:
    """Impossible pod shapes."""
    if len(pods) > _MAX_PODS:
        yield Mistake(("pods",), f"found {len(pods)} of them, wanted at most {_MAX_PODS}")
    for name, shape in pods.items():
        if not _SHAPE.fullmatch(name):
            problem = f"found the name {name!r:.80}, wanted letters, digits, - and _ (at most 63, a letter first)"
            yield Mistake(("pods", name), problem)
        for key, count, zero in (("gpus", shape.gpus, "0 (all of the host)"), ("nics", shape.nics, "0")):
            if count < 0:
                yield Mistake(("pods", name, key), f"found {count!r:.60}, wanted {zero} or more")
        if not _CPUS.fullmatch(str(shape.cpus)):
            yield Mistake(("pods", name, "cpus"), f'found {shape.cpus!r:.60}, wanted CPUs such as 16 or "7500m"', shape.cpus)
        if not _MEMORY.fullmatch(str(shape.memory)):
            problem = f"found {shape.memory!r:.60}, wanted bytes or a quantity such as 200Gi"
            yield Mistake(("pods", name, "memory"), problem, shape.memory)


def _configz(configz: Any) -> Iterator[Mistake]:
    """An address without CA and token, or the other way round."""
    path = ("kubelet", "configz")
    if configz.address and not _is_address(configz.address):
        yield Mistake((*path, "address"), f"found {configz.address!r:.60}, wanted a host and a port such as 127.0.0.1:10250")
    for key, file in (("ca", configz.ca), ("token_file", configz.token_file)):
        if file and not (file.startswith("/") and file.isprintable()):
            yield Mistake((*path, key), f"found {file!r:.60}, wanted the path of a file, from /")
        elif bool(file) != bool(configz.address):
            found = f"{configz.address!r:.60} and no {key}" if configz.address else f"{file!r:.60} and no address"
            yield Mistake((*path, key), f'found {found}, wanted address, ca and token_file, or "" for all of them')


def _is_address(text: str) -> bool:
    found = _ADDRESS.fullmatch(text)
    return found is not None and int(found[2]) < 65536


def _constraints(profile: Any) -> Iterator[Mistake]:
    """Versions that cannot be parsed, and a version to install that the same profile does not accept."""
    from hostagent.facts.version import ConstraintError, parse_constraints

    wanted = {
        ("driver", "version"): (profile.driver.version, profile.driver.install),
        ("toolkit", "version"): (profile.toolkit.version, profile.toolkit.install),
        ("cuda", "toolkit"): (profile.cuda.toolkit, profile.cuda.install),
    }
    for path, (constraint, install) in wanted.items():
        meant = _meant(path[0], install)
        if isinstance(meant, Mistake):
            yield meant
            continue
        try:
            parse_constraints(constraint)
        except ConstraintError as error:
            yield Mistake(path, str(error), constraint)
            continue
        if install and not meant.allowed_by(constraint):
            problem = f'"{constraint}" does not allow {path[0]}.install, which is "{install}": set {path[0]}.install as well ("" for none)'
            yield Mistake(path, problem, constraint)


def _meant(part: str, install: str) -> "Wish | Mistake":
    """The version that a profile installs of a part."""
    from hostagent.facts.version import WishError, wish

    path = (part, "install")
    try:
        found = wish(install)
    except WishError as error:
        return Mistake(path, _NO_CUDA.format(install[:60]) if part == "cuda" else str(error), install)
    if part == "cuda" and install and not _CUDA.fullmatch(found.prefix):
        return Mistake(path, _NO_CUDA.format(install[:60]), install)
    return found


def _is_plain(value: Any) -> bool:
    """Whether JSON can hold it; the check of the parameter validates its exact type."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return isinstance(value, str | int) or (isinstance(value, float) and math.isfinite(value))
