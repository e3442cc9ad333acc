"""CDI specifications as a runtime reads them, and the units that generate them."""

from collections.abc import Callable, Iterable
from typing import Any

from hostagent.core.answers import MIB
from hostagent.core.parsing import Allowance, stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.runtime.cdi_spec import KEEP, CdiError, parse_spec
from hostagent.domains.system.read_services import UnitTree
from hostagent.domains.system.read_storage import parse_filesystem_type
from hostagent.domains.system.unit_file import parse_unit
from hostagent.facts.cdi import Cdi, CdiSpec
from hostagent.facts.host import Services, Unit
from hostagent.facts.runtime import Runtime
from hostagent.host.source import Source

#: In the CDI library's order: a device of the later directory hides one of the earlier.
_STATIC, _DYNAMIC = "/etc/cdi", "/var/run/cdi"
_REFRESH = "nvidia-cdi-refresh.service"
_TARGET = "multi-user.target"
_MAX_FILES, _MAX_BYTES, _MAX_PATHS = 1000, 2 * MIB, 5000
_RESULT = Keep("settings", ("Result", "ExecMainExitTimestampMonotonic"))


def read_cdi(source: Source, known: Callable[[type], Any]) -> Cdi:
    specs = _specs(source, _directories(known(Runtime)))
    generated = _generated(source, specs)
    order = _order(source, known(Services))
    late, cycles = (order, order) if isinstance(order, Unread) else order
    resolved, duplicates = (specs, specs) if isinstance(specs, Unread) else resolve(specs)
    return Cdi(
        specs=specs,
        devices=resolved,
        duplicates=duplicates,
        etc_is_volatile=_is_volatile(source),
        generated=generated,
        refresh_enabled=_refresh_enabled(known(Services)),
        refresh_result=_refresh_result(source, generated, known(Services)),
        refresh_after_target=late,
        refresh_cycles=cycles,
    )


def _is_volatile(source: Source) -> "bool | Unread":
    mounts = source.text("/proc/1/mounts", keep=Keep("mounts", (_STATIC,)))
    return then(mounts, lambda text: parse_filesystem_type(text, _STATIC) in ("tmpfs", "ramfs"))


def _directories(runtimes: Any) -> tuple[str, ...]:
    """The directories in the order in which a runtime reads them, the last wins; the default ones where runtimes differ."""
    found = [_STATIC, _DYNAMIC]
    readers = [] if isinstance(runtimes, Unread) else [one for one in runtimes if _reads_cdi(one)]
    for one in readers:
        found += one.cdi_spec_dirs
    used = [one for one in readers if one.in_use is True] or readers
    orders = {_order_of(one.cdi_spec_dirs) for one in used}
    if len(orders) == 1:  # directories that it does not read come before its own
        own = orders.pop()
        found = [
            *(one for one in found if _spelled(one) not in own),
            *(next(one for one in found if _spelled(one) == name) for name in own),
        ]
    return tuple(dict.fromkeys(found))


def _reads_cdi(one: Any) -> bool:
    return isinstance(one, Runtime) and not isinstance(one.cdi_spec_dirs, Unread)


def _order_of(configured: "tuple[str, ...]") -> "tuple[str, ...]":
    """Of a directory that is named twice the last place counts, as in the CDI library."""
    return tuple(reversed(dict.fromkeys(map(_spelled, reversed(configured)))))


def _spelled(directory: str) -> str:
    return directory.rstrip("/").replace("/var/run/", "/run/")


@stops_at_unread
def _specs(source: Source, directories: Iterable[str]) -> tuple[CdiSpec, ...]:
    found: list[CdiSpec] = []
    seen: set[str] = set()
    files, allowed = Allowance("files of CDI", _MAX_FILES), _Allowed()
    for directory in directories:
        names = source.listdir(directory)
        if isinstance(names, Unread):
            if names.why in NOT_THERE:
                continue
            raise UnreadError(names)
        real = need(source.realpath(directory))  # it was listed a moment ago
        if real in seen:
            continue
        seen.add(real)
        named = [name for name in names if name.endswith((".yaml", ".json"))]
        files.take(len(named))
        found += filter(None, (_spec(source, f"{directory}/{name}", allowed) for name in named))
    return tuple(found)


class _Allowed:
    def __init__(self) -> None:
        self.bytes = Allowance("bytes of CDI specifications", _MAX_BYTES)
        self.paths = Allowance("paths in CDI specifications", _MAX_PATHS)


def _spec(source: Source, path: str, allowed: _Allowed) -> CdiSpec | None:
    """One file; None if it is another vendor's."""
    data = source.read(path, keep=KEEP)
    if isinstance(data, Unread):
        if data.why == "error":  # a directory, a loop of links, more than a megabyte: the library cannot use it either
            return CdiSpec(path, data.detail or "cannot be read", "", "", (), (), (), ())
        raise UnreadError(data)
    allowed.bytes.take(len(data))
    try:
        parsed = parse_spec(data)
    except CdiError as error:
        return CdiSpec(path, str(error), "", "", (), (), (), ()) if b"nvidia" in data or "nvidia" in path else None
    vendor = parsed.kind.partition("/")[0]
    if vendor != "nvidia.com" and not vendor.endswith(".nvidia.com"):
        return None
    missing = _missing(source, parsed.host_paths, allowed.paths)
    return CdiSpec(path, "", parsed.cdi_version, parsed.kind, parsed.devices, parsed.library_versions, missing, parsed.uvm_majors)


@stops_at_unread
def _missing(source: Source, paths: tuple[str, ...], allowed: Allowance) -> "tuple[str, ...] | Unread":
    allowed.take(len(paths))
    found = []
    for path in paths:
        if not path.startswith("/"):
            found.append(path)
            continue
        stat = source.stat(path)
        if isinstance(stat, Unread) and stat.why == "absent":
            found.append(path)
        elif isinstance(stat, Unread) and stat.why != "not-running":
            return stat
    return tuple(found)


def resolve(specs: Iterable[CdiSpec]) -> "tuple[tuple[str, ...], tuple[str, ...]]":
    """The device names that a runtime resolves, and those that it drops because one directory defines them twice
    (cache.go of the CDI library, refresh()).

    A later directory hides an earlier one. A second definition within one directory is a conflict, which removes the name, even if
    another directory defines it.
    """
    winners: dict[str, tuple[str, str]] = {}
    conflicts: dict[str, str] = {}
    for spec in specs:
        directory = spec.path.rpartition("/")[0]
        for device in spec.devices:
            name = f"{spec.kind}={device}"
            if name in winners and winners[name][0] == directory:
                conflicts[name] = f"{name} in {winners[name][1]} and {spec.path}"
            else:
                winners[name] = (directory, spec.path)
    return tuple(name for name in winners if name not in conflicts), tuple(conflicts.values())


def _generated(source: Source, specs: "tuple[CdiSpec, ...] | Unread") -> "bool | Unread":
    if isinstance(specs, Unread):
        return specs
    listed = source.listdir(_DYNAMIC, absent=())
    return then(listed, lambda _: any(spec.path.startswith(_DYNAMIC + "/") and not spec.error for spec in specs))


def _refresh_unit(services: "Services | Unread") -> Unit:
    unit = need(need(services).unit(_REFRESH.removesuffix(".service")))
    if not unit.exists:
        raise UnreadError(Unread("absent", f"no {_REFRESH}"))
    return unit


@stops_at_unread
def _refresh_enabled(services: "Services | Unread") -> bool:
    unit = need(need(services).unit(_REFRESH.removesuffix(".service")))
    return unit.exists and need(unit.enabled)


@stops_at_unread
def _refresh_result(source: Source, generated: "bool | Unread", services: "Services | Unread") -> str:
    """The unit's result: success if its file exists; systemctl, the only program that this module runs, is asked only if it is missing."""
    _refresh_unit(services)
    if need(generated):
        return "success"
    asked = need(source.run("systemctl", "show", "-p", "Result", "-p", "ExecMainExitTimestampMonotonic", _REFRESH, keep=_RESULT))
    if asked.exit_code != 0:
        raise UnreadError(Unread("error", f"systemctl show: exit {asked.exit_code}: {asked.stderr.strip()[:100]}"))
    return parse_show(asked.stdout)


def parse_show(text: str) -> str:
    r"""The Result of a unit, or not-run if its main process has not ended since the boot.

    >>> parse_show("Result=exit-code\nExecMainExitTimestampMonotonic=8123\n")
    'exit-code'
    >>> parse_show("Result=success\nExecMainExitTimestampMonotonic=0\n")
    'not-run'
    """
    values = dict(line.partition("=")[::2] for line in text.splitlines())
    if values.get("ExecMainExitTimestampMonotonic", "0") == "0":
        return "not-run"
    return values.get("Result") or "unknown"


@stops_at_unread
def _order(source: Source, services: "Services | Unread") -> tuple[bool, tuple[str, ...]]:
    unit = _refresh_unit(services)
    if _TARGET not in parse_unit(need(unit.text)).words("Unit", "After"):
        return False, ()
    return refresh_order(UnitTree(source))


def refresh_order(tree: UnitTree) -> tuple[bool, tuple[str, ...]]:
    """Whether the refresh unit waits for multi-user.target, and the units that then wait for themselves.

    A target waits for the units that it pulls in. So a unit that multi-user.target pulls in and that waits for the refresh, directly or
    indirectly, closes an ordering cycle, and systemd drops its start job.
    """
    refresh = tree.find(_REFRESH)
    if refresh is None or _TARGET not in refresh.settings.words("Unit", "After"):
        return False, ()
    found = {name: tree.find(name) for name in tree.pulled_by(_TARGET) if name != _REFRESH}
    waits = {name: set(unit.settings.words("Unit", "After")) for name, unit in found.items() if unit}
    for name in refresh.settings.words("Unit", "Before"):
        if name in waits:
            waits[name].add(_REFRESH)
    late = {_REFRESH}
    for _ in waits:
        late |= {name for name, after in waits.items() if after & late}
    free = {name for name, unit in found.items() if unit and unit.settings.values("Unit", "DefaultDependencies")[-1:] == ["no"]}
    behind = {name for name, after in waits.items() if _TARGET in after}  # a target does not wait for units that wait for it
    return True, tuple(sorted(late - {_REFRESH} - free - behind))
