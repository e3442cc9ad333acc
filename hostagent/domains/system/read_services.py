"""States of the units this project knows, from systemd's files by systemd's rules and in its terms."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from hostagent.core.answers import KIB
from hostagent.core.retention import WHOLE, Keep
from hostagent.core.tables.daemons import units
from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need, then
from hostagent.domains.system.read_processes import read_processes
from hostagent.domains.system.retention import FLAGS, KUBELET_FLAGS
from hostagent.domains.system.unit_file import CONDITIONS, UnitText, parse_unit
from hostagent.facts.host import Process, Services, Unit, running
from hostagent.host.source import Source
from hostagent.host.values import names_in

#: systemd.unit(5), the system manager's search path: the first directory with a file of the name wins.
ETC = "/etc/systemd/system"
DIRECTORIES = (
    "/etc/systemd/system.control", "/run/systemd/system.control", "/run/systemd/transient", "/run/systemd/generator.early",
    ETC, "/run/systemd/system", "/run/systemd/generator", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
    "/lib/systemd/system", "/run/systemd/generator.late",
)  # fmt: skip
_PULLING = (".wants", ".requires", ".upholds")
_UNIT = Keep(
    "unit",
    (
        *("Unit.After", "Unit.Before", "Unit.DefaultDependencies", "Service.Slice", "Service.LimitMEMLOCK", "Service.EnvironmentFile"),
        *(f"Service.{key}?{flag}" for key in ("ExecStart", "Environment") for flag in FLAGS),
        *(f"Install.{key}" for key in ("WantedBy", "RequiredBy", "UpheldBy", "Alias", "Also")),
    ),
)
#: Of a kubelet's unit also the flags and variables that `hostagent.snapshot.flagwords` keeps.
_KUBELET = Keep("unit", (*_UNIT.names, *(f"Service.{key}@{flag}" for key in ("ExecStart", "Environment") for flag in KUBELET_FLAGS)))
#: Of a mount's unit whether it may rightly make no mount.
_MOUNT = Keep("unit", (*_UNIT.names, *(f"Unit.{key}" for key in CONDITIONS)))
_KUBELETS = frozenset(f"{name}.service" for name in units("kubelet", "supervisor"))
#: Every unit includes the drop-ins of `service.d`, and holds its own copy of the text.
_MOST_DROP_INS, _MOST_BYTES = 200, 64 * KIB
_CGROUP_ROOTS = ("/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/systemd")


def read_services(source: Source, known: Callable[[type], Any]) -> Services:
    processes = read_processes(source)
    try:
        tree = UnitTree(source)
        return Services(tuple(_unit(source, tree, name, daemons, processes) for name, daemons in units().items()))
    except UnreadError as error:
        return Services(error.unread)


def _unit(source: Source, tree: "UnitTree", name: str, daemons: tuple[str, ...], processes: "tuple[Process, ...] | Unread") -> Unit:
    full = name if name.endswith((".path", ".socket")) else f"{name}.service"
    try:
        found = tree.find(full)
    except UnreadError as error:
        return Unit(
            name, exists=True, state=error.unread, enabled=error.unread, masked=error.unread, active=error.unread, text=error.unread
        )
    if found is None:
        none = Unread("absent", f"no unit {full}")
        return Unit(name, exists=False, state=none, enabled=none, masked=none, active=none, text=none)
    masked = found.state in ("masked", "masked-runtime")
    return Unit(
        name,
        exists=True,
        state=found.state,
        enabled=_enabled(tree, full, found.state),
        masked=masked,
        active=_active(source, full, found.settings, daemons, processes),
        text=Unread("absent", f"{full} is masked") if masked else found.text,
    )


def _enabled(tree: "UnitTree", full: str, state: str) -> "bool | Unread":
    """Whether it is enabled; unread if no link enables it and one could not be read."""
    if state in ("masked", "masked-runtime"):
        return False
    return state in ("enabled", "enabled-runtime") or full in tree.vendor_started or tree.unseen.get(full, False)


def _active(
    source: Source, full: str, settings: UnitText, daemons: tuple[str, ...], processes: "tuple[Process, ...] | Unread"
) -> "bool | Unread":
    if isinstance(processes, Unread) and processes.why == "not-running":
        return processes
    if full.endswith((".path", ".socket")):
        return Unread("not-supported", f"{full} has no process to see")
    slice_ = (settings.values("Service", "Slice") or ["system.slice"])[-1]
    has_systemd: bool | Unread = False
    for root in _CGROUP_ROOTS:
        parent = f"{root}/{slice_path(slice_)}"
        for file in ("cgroup.events", "cgroup.procs"):
            text = source.text(f"{parent}/{full}/{file}", keep=WHOLE)
            if not isinstance(text, Unread):
                return "populated 1" in text if file == "cgroup.events" else bool(text.strip())
            if text.why not in NOT_THERE:
                return text
        if has_systemd is not True:
            seen = source.exists(f"{root}/system.slice")
            has_systemd = has_systemd if seen is False else seen
    if has_systemd is not False:
        return then(has_systemd, lambda _: False)
    return then(then(processes, lambda found: running(found, *daemons)), bool)


def slice_path(name: str) -> str:
    """The cgroup path of a slice (systemd.slice(5)).

    >>> slice_path("system.slice"), slice_path("runtime-gpu.slice")
    ('system.slice', 'runtime.slice/runtime-gpu.slice')
    """
    parts = name.removesuffix(".slice").split("-")
    if len(parts) > 16 or "/" in name:  # systemd rejects such a name as well
        return "system.slice"
    return "/".join("-".join(parts[: end + 1]) + ".slice" for end in range(len(parts)))


def _keep(name: str) -> Keep:
    return _KUBELET if name in _KUBELETS else _MOUNT if name.endswith(".mount") else _UNIT


class UnitFile:
    """A unit file as systemd finds it."""

    def __init__(self, state: str, text: str, settings: UnitText) -> None:
        self.state = state
        self.text = text
        self.settings = settings


class UnitTree:
    """systemd's directories, each listed once. Raises ``UnreadError`` where one cannot be listed."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._names: dict[str, tuple[str, ...]] = {}
        self._linked: dict[str, dict[str, str | Unread]] = {}
        seen: set[str] = set()
        for directory in DIRECTORIES:
            real = source.realpath(directory)
            if isinstance(real, Unread) and real.why not in NOT_THERE:
                raise UnreadError(real)
            if not isinstance(real, Unread) and real not in seen:
                seen.add(real)
                self._names[directory] = self._list(directory)
        #: Units with a link that could not be read.
        self.unseen: dict[str, Unread] = {}
        self._pulled = {directory: set(self._pulled_by(directory)) for directory in self._names}
        #: Units that a vendor's link starts, regardless of the state that `systemctl` prints.
        self.vendor_started = {
            name for directory, names in self._pulled.items() if directory.startswith(("/usr", "/lib")) for name in names
        }

    def pulled_by(self, target: str) -> tuple[str, ...]:
        """Units in a wants, requires or upholds directory of `target`."""
        found: list[str] = []
        for directory, names in self._names.items():
            for suffix in _PULLING:
                if target + suffix in names:
                    found += self._list(f"{directory}/{target}{suffix}")
        return tuple(dict.fromkeys(found))

    def find(self, name: str) -> "UnitFile | None":
        for directory, names in self._names.items():
            if name in names:
                return self._load(directory, name)
        return None

    def _load(self, directory: str, name: str) -> UnitFile:
        path = f"{directory}/{name}"
        if self._null(path):
            return UnitFile("masked-runtime" if directory.startswith("/run") else "masked", "", parse_unit(""))
        text = self._source.text(path, keep=_keep(name))
        if isinstance(text, Unread):
            gone = Unread("error", f"{path} is a link to a file that is not there", text.question)
            raise UnreadError(gone if text.why == "absent" else text)
        own = need(self._source.realpath(path)).rpartition("/")[2]
        names = (name, own) if own != name else (name,)
        text = self._with_drop_ins(path, text, names)
        settings = parse_unit(text)
        return UnitFile(self._state(directory, name, own, settings), text, settings)

    def _with_drop_ins(self, path: str, text: str, names: tuple[str, ...]) -> str:
        """The unit's text with its drop-ins."""
        texts, rest = [text], _MOST_BYTES - len(text)
        drop_ins = self._drop_ins(names)
        while rest >= 0 and (one := next(drop_ins, None)) is not None:
            texts.append(one)
            rest -= len(one) + 1
        if rest < 0:
            raise UnreadError(Unread("error", f"{path} and its drop-ins have more than {_MOST_BYTES} characters"))
        return "\n".join(texts)

    def _state(self, directory: str, name: str, own: str, settings: UnitText) -> str:
        """As install.c of systemd: unit_file_lookup_state() and find_symlinks_in_scope()."""
        if own != name:
            return "alias"
        if directory.startswith("/run/systemd/generator"):
            return "generated"
        if directory == "/run/systemd/transient":
            return "transient"
        links = self._links(directory, name, settings.words("Install", "Alias"))
        if "enabled" in links.get(ETC, ()):
            return "enabled"
        if any("enabled" in kinds for one, kinds in links.items() if one.startswith("/run")):
            return "enabled-runtime"
        if "linked" in links.get(ETC, ()):
            return "linked"
        if any("linked" in kinds for one, kinds in links.items() if one.startswith("/run")):
            return "linked-runtime"
        if any("alias" in kinds for kinds in links.values()):
            return "indirect"
        if any(settings.words("Install", key) for key in ("WantedBy", "RequiredBy", "UpheldBy", "Alias")):
            return "disabled"
        return "indirect" if settings.words("Install", "Also") else "static"

    def _links(self, home: str, name: str, aliases: list[str]) -> dict[str, set[str]]:
        """By directory, the kinds of links to the unit: enabled, linked (by its own name), alias (by another name)."""
        found: dict[str, set[str]] = {}
        for directory, names in self._names.items():
            kinds = found.setdefault(directory, set())
            if name in self._pulled[directory]:
                kinds.add("enabled")
            if directory.startswith(("/etc", "/run")):
                entries = self._targets(directory)
            else:
                entries = {name: self._target(directory, name)} if name in names else {}
            for entry, target in entries.items():
                if entry in (name, *aliases) and isinstance(target, Unread):
                    self.unseen.setdefault(name, target)
                elif not isinstance(target, Unread) and target == name:
                    kinds.add("linked" if entry == name else "enabled" if entry in aliases else "alias")
        return found

    def _targets(self, directory: str) -> "Mapping[str, str | Unread]":
        """Targets of the links in a directory, by link name."""
        if directory not in self._linked:
            self._linked[directory] = {name: self._target(directory, name) for name in self._names[directory]}
        return self._linked[directory]

    def _target(self, directory: str, name: str) -> "str | Unread":
        target = self._source.readlink(f"{directory}/{name}")
        return "" if isinstance(target, Unread) and target.why in NOT_THERE else then(target, lambda path: path.rpartition("/")[2])

    def _pulled_by(self, directory: str) -> Iterator[str]:
        for entry in self._names[directory]:
            if entry.endswith(_PULLING):
                for name in self._list(f"{directory}/{entry}"):
                    target = self._source.readlink(f"{directory}/{entry}/{name}")
                    if not isinstance(target, Unread):
                        yield name
                    elif target.why not in NOT_THERE:
                        self.unseen[name] = target

    def _drop_ins(self, names: tuple[str, ...]) -> Iterator[str]:
        """Texts in the order of their file names; of two files with the same name, the earlier directory's counts."""
        chosen: dict[str, str] = {}
        for folder in drop_in_directories(names):
            for directory, entries in self._names.items():
                if folder in entries:
                    for file in self._list(f"{directory}/{folder}"):
                        if file.endswith(".conf"):
                            chosen.setdefault(file, f"{directory}/{folder}/{file}")
        if len(chosen) > _MOST_DROP_INS:
            raise UnreadError(Unread("error", f"{names[0]} has {len(chosen)} drop-ins, wanted at most {_MOST_DROP_INS}"))
        for file in sorted(chosen):
            if not self._null(chosen[file]):
                yield need(self._source.text(chosen[file], keep=_keep(names[0]), absent=""))  # systemd ignores a dangling link

    def _null(self, path: str) -> bool:
        """A link to /dev/null, or an empty file."""
        for target in (self._source.realpath(path), self._source.readlink(path)):
            if not isinstance(target, Unread) and target == "/dev/null":
                return True
        stat = self._source.stat(path)
        if isinstance(stat, Unread) and stat.why in NOT_THERE:  # a dangling link
            return False
        return need(stat).kind == "file" and need(stat).size == 0

    def _list(self, directory: str) -> tuple[str, ...]:
        return need(names_in(self._source, directory))


def drop_in_directories(names: tuple[str, ...]) -> tuple[str, ...]:
    """Drop-in directories of a unit under its names, the most specific first (systemd.unit(5)).

    >>> drop_in_directories(("nvidia-cdi-refresh.service",))
    ('nvidia-cdi-refresh.service.d', 'nvidia-cdi-.service.d', 'nvidia-.service.d', 'service.d')
    """
    found = []
    for name in names:
        stem, _, kind = name.rpartition(".")
        found.append(f"{name}.d")
        found += [f"{stem[: at + 1]}.{kind}.d" for at in range(len(stem) - 2, 0, -1) if stem[at] == "-"]
    return (*dict.fromkeys(found), f"{names[0].rpartition('.')[2]}.d")
