"""Settings of runtimes that do not decide how GPUs reach containers: the data directory, and SELinux."""

# Read with a limit of its own, so that it is another question than that of the readers of the whole configuration: recordings that
# lack it still answer theirs.

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import DOCKER_PROCESS
from hostagent.core.toml import TomlError, parse_toml
from hostagent.core.unread import NOT_APPLICABLE, Unread
from hostagent.domains.runtime.tables.data import DATA, SNAP_DATA, STORAGE
from hostagent.domains.system.read_processes import read_processes
from hostagent.domains.system.retention import CRIO_FLAGS
from hostagent.facts.host import Process
from hostagent.facts.runtime import Runtime
from hostagent.host.process import flag_path
from hostagent.host.source import Source

_BYTES = 300 * 1024
_TOML = Keep(
    "toml",
    (*("root", "plugins/*/enable_selinux#", "crio/root", "crio/runtime/selinux#", "storage/graphroot"),),
)
#: Where images are kept elsewhere than in the data directory: asked first, since older recordings have only the others.
_STORES = Keep(
    "toml",
    (
        *_TOML.names,
        "crio/imagestore",
        "storage/imagestore",
        "plugins/*/root_path",
        "plugins/*/snapshotter",
        "plugins/*/containerd/snapshotter",
    ),
)
_JSON = Keep("json", ("data-root", "graph", "selinux-enabled#"))
_DATA_KEYS = ("data-root", "graph", "root", "graphroot")
_ROOT_FLAGS = {"containerd": ("--root",), "docker": ("--data-root", "--graph", "-g"), "crio": ("--root", "-r")}
_IMAGE_FLAGS = {"crio": ("--imagestore",)}
_SNAPSHOTTERS, _SNAPSHOTTER = "io.containerd.snapshotter.v1.", "overlayfs"
_SELINUX_FLAGS = {"docker": "--selinux-enabled", "crio": "--selinux"}
_CONFIG_FLAGS = ("--config", "--config-file", "-c")
_FLAGS = Keep(
    "arguments",
    (
        *_CONFIG_FLAGS,
        *(flag for flags in _ROOT_FLAGS.values() for flag in flags if flag not in CRIO_FLAGS.names),
        *(f"{flag}!" for flag in _SELINUX_FLAGS.values()),
    ),
)
_PROGRAMS = {"containerd": "containerd", "docker": DOCKER_PROCESS, "crio": "crio"}
#: Built-in values of CRI-O and of Podman's library, where no file sets them: SELinux as on the host.
_CRIO_SELINUX = True


class Settings(NamedTuple):
    """Of one runtime, by its process's flags, its files, and its built-in values."""

    data: str  # its data directory
    images: str  # where its images are: the data directory, or that of the image store or the snapshotter
    selinux: bool


def settings(source: Source, runtime: Runtime) -> "Settings | Unread":
    """The effective settings; unread where a file or the flags of its process are. A recording without processes has no flags."""
    tables = _tables(source, runtime)
    if isinstance(tables, Unread):
        return tables
    argv = _argv(source, runtime)
    if isinstance(argv, Unread):
        return argv
    data = flag_path(argv, *_ROOT_FLAGS[runtime.kind]) or _last_text(
        (one for table in tables for one in _owners_of_data(table)), *_DATA_KEYS
    )
    data = data or _default(runtime)
    images = flag_path(argv, *_IMAGE_FLAGS.get(runtime.kind, ())) or _images(runtime.kind, tables)
    return Settings(data, images or data, _selinux(runtime.kind, argv, [one for table in tables for one in _sections(table)]))


def graphroot(source: Source) -> "str | Unread":
    """The directory of images that storage.conf names for root; "" for none."""
    data = source.read(STORAGE, _BYTES, keep=_TOML)
    if isinstance(data, Unread):
        return "" if data.why in ("absent", "not-running") else data
    return _last_text([_table(parse_document(data), "storage")], "graphroot")


def _tables(source: Source, runtime: Runtime) -> "list[Mapping[str, Any]] | Unread":
    """The documents of its configuration in merge order; what is no document configures nothing here."""
    files = runtime.config_files
    paths = () if isinstance(files, Unread) else files
    found: list[Mapping[str, Any]] = []
    for path in (*((STORAGE,) if runtime.kind == "crio" else ()), *paths):
        data = source.read(path, _BYTES, keep=_JSON if runtime.kind == "docker" else _STORES)
        if isinstance(data, Unread) and data.why == "not-recorded" and runtime.kind != "docker":
            data = source.read(path, _BYTES, keep=_TOML)
        if not isinstance(data, Unread):
            found.append(parse_document(data))
        elif data.why not in ("absent", "not-running"):
            return data
    return found


def parse_document(data: bytes) -> dict[str, Any]:
    """TOML or JSON; {} for anything else.

    >>> parse_document(b'root = "/data"'), parse_document(b'{"data-root": "/data"}'), parse_document(b"[")
    ({'root': '/data'}, {'data-root': '/data'}, {})
    """
    try:
        found = json.loads(data) if data.lstrip()[:1] == b"{" else parse_toml(data)
    except (TomlError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _owners_of_data(table: Mapping[str, Any]) -> "Iterable[Mapping[str, Any]]":
    """The tables that may name the data directory: containerd's and dockerd's own, of the library below CRI-O, and of CRI-O."""
    return table, _table(table, "storage"), _table(table, "crio")


def _images(kind: str, tables: "list[Mapping[str, Any]]") -> str:
    """CRI-O's image store, or the directory of the snapshotter that containerd's CRI uses; "" for the data directory.

    >>> _images("containerd", [{"plugins": {"io.containerd.snapshotter.v1.overlayfs": {"root_path": "/data"}}}])
    '/data'
    """
    if kind == "crio":
        return _last_text((one for table in tables for one in (_table(table, "storage"), _table(table, "crio"))), "imagestore")
    plugins = [_table(table, "plugins") for table in tables]
    users = (owner for one in plugins for name in one for owner in (_table(one, name), _table(_table(one, name), "containerd")))
    named = [owner["snapshotter"] for owner in users if isinstance(owner.get("snapshotter"), str)]
    used = f"{_SNAPSHOTTERS}{named[-1] if named else _SNAPSHOTTER}"
    return _last_text((_table(one, used) for one in plugins), "root_path")


def _sections(table: Mapping[str, Any]) -> "Iterable[Mapping[str, Any]]":
    """The tables that may switch SELinux on: dockerd's own, of CRI-O, and of containerd's plug-ins."""
    plugins = _table(table, "plugins")
    return table, _table(_table(table, "crio"), "runtime"), *(_table(plugins, name) for name in plugins)


def _table(table: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = table.get(key)
    return value if isinstance(value, dict) else {}


def _last_text(tables: "Iterable[Mapping[str, Any]]", *keys: str) -> str:
    """The last absolute path that one of the tables sets by one of the keys."""
    values = [table[key] for table in tables for key in keys if key in table]
    texts = [value for value in values if isinstance(value, str) and value.startswith("/")]
    return texts[-1].rstrip("/") if texts else ""


def _selinux(kind: str, argv: tuple[str, ...], tables: "Iterable[Mapping[str, Any]]") -> bool:
    key = {"containerd": "enable_selinux", "docker": "selinux-enabled", "crio": "selinux"}[kind]
    given = [table[key] for table in tables if isinstance(table.get(key), bool)]
    flag = _SELINUX_FLAGS.get(kind, "")
    if flag and any(word in (flag, f"{flag}=true") for word in argv):
        return True
    return bool(given[-1]) if given else kind == "crio" and _CRIO_SELINUX


def _argv(source: Source, runtime: Runtime) -> "tuple[str, ...] | Unread":
    """Words of its process; () where it does not run, or where a recording has no processes."""
    source.processes(keep=CRIO_FLAGS)  # the same list again, with the flags to keep in a recording
    processes = read_processes(source, _FLAGS)
    if isinstance(processes, Unread):
        return () if processes.why in ("not-recorded", *NOT_APPLICABLE) else processes
    return next((one.argv for one in processes if _is_of(one, runtime)), ())


def _is_of(process: Process, runtime: Runtime) -> bool:
    """Whether a trusted process runs this runtime: of several containerds by the configuration file that its flag names."""
    if isinstance(process.unit, Unread) or process.name != _PROGRAMS[runtime.kind]:
        return False
    config, files = flag_path(process.argv, *_CONFIG_FLAGS), runtime.config_files
    if not config or config in (() if isinstance(files, Unread) else files):
        return bool(config) or runtime.key in ("containerd", "docker", "crio")
    return False


def _default(runtime: Runtime) -> str:
    files = runtime.config_files
    if runtime.key == "docker" and not isinstance(files, Unread) and any(path.startswith("/var/snap/docker/") for path in files):
        return SNAP_DATA
    return DATA.get(runtime.key, "")
