"""containerd's effective CRI configuration, as its version computes it.

Measured with ``config dump`` and by starting the programs; `hostagent.domains.runtime.tables.versions` has the differences by
version, and tests/real/test_containerd.py repeats the measurements.
"""

# In 1.6 and 1.7 a file with only the nvidia runtime replaces the built-in runc; `config dump` accepts it and the daemon
# then runs without CRI: rejected. SystemdCgroup unset is cgroupfs on 2.1, also on a systemd host. 2.0 and 2.2 are assumed to
# behave as 2.1, 1.5 and older as 1.6.

from collections.abc import Mapping
from typing import Any, NamedTuple

from hostagent.core.unread import Unread
from hostagent.domains.runtime.read_containerd_files import ConfigError, File, load_files, strings
from hostagent.domains.runtime.read_containerd_shadow import is_nvidia_cri, shadowed
from hostagent.domains.runtime.tables.versions import (
    CONTAINERD,
    CONTAINERD_MEASURED,
    CRI_IMAGES,
    CRI_RUNTIME,
    GRPC_CRI,
    RUNC_V2,
    SPEC_DIRS,
    ContainerdRules,
    schema,
)
from hostagent.host.source import Source
from hostagent.host.values import modified_at

Table = Mapping[str, Any]
_GRPC_SERVER = "io.containerd.server.v1.grpc"


class Effective(NamedTuple):
    """The effective configuration. ``error`` is why containerd, or its CRI plugin, rejects the configuration; "" otherwise."""

    error: str
    files: tuple[str, ...]
    newest_mtime: "float | Unread"
    version: int
    cri_disabled: bool
    default_runtime: str
    handlers: Mapping[str, Table]
    cdi_enabled: bool
    cdi_spec_dirs: tuple[str, ...]
    address: str  # "" for the built-in one
    misplaced: tuple[str, ...]
    shadowed: tuple[str, ...]


def rules_for(version: str) -> ContainerdRules:
    """The rules of a version such as ``1.7.24``; the newest for "", an unknown version.

    >>> rules_for("1.6.20").since, rules_for("1.7.24").since, rules_for("2.1.4").since
    ((0, 0), (1, 7), (2, 0))
    """
    if not version:
        return CONTAINERD[-1]._replace(measured=False)
    rules = next(rules for rules in reversed(CONTAINERD) if rules.since <= _fields(version))
    return rules._replace(measured=False) if is_newer(version) else rules


def _fields(version: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdecimal() and len(part) < 9 else 0 for part in (*version.split("."), "0")[:3])


def is_newer(version: str) -> bool:
    """Whether its line is newer than all that were measured."""
    return bool(version) and _fields(version)[:2] > CONTAINERD_MEASURED


def rules_of_unknown_version(source: Source, main: str, newest: "Effective") -> str:
    """``judged_as`` of an unknown version: "newest" if all rules give the same result, "older-differs" otherwise."""
    for rules in CONTAINERD[:-1]:
        view = effective(source, main, ".".join(map(str, rules.since)))
        if isinstance(view, Unread) or _decides(view) != _decides(newest):
            return "older-differs"
    return "newest"


def effective(source: Source, main: str, version: str) -> "Effective | Unread":
    """The effective configuration of containerd `version` started with the configuration file `main`."""
    rules = rules_for(version)
    files: tuple[File, ...] = ()
    try:
        loaded = load_files(source, main, rules)
        if isinstance(loaded, Unread):
            return loaded
        files = loaded
        return _effective(files, rules)
    except ConfigError as error:
        names = tuple(file.path for file in files) or (main,)
        return Effective(str(error), names, modified_at(source, main), 0, False, "", {}, False, (), "", (), ())


def _decides(view: Effective) -> tuple[object, ...]:
    """The values that checks use: accepted or not, the default, NVIDIA's entries; without any, CDI."""
    nvidia = {name: entry for name, entry in view.handlers.items() if "nvidia" in name or "nvidia" in str(entry.get("options", {}))}
    default = view.handlers.get(view.default_runtime)
    return view.error, view.cri_disabled, view.default_runtime, default, nvidia, bool(nvidia) or view.cdi_enabled


def _effective(files: tuple[File, ...], rules: ContainerdRules) -> Effective:
    for file in files:
        _check_types(file.data, schema(rules).top, file.path)
    files = tuple(_with_full_names(file) for file in files) if rules.deep_merge else files
    files = tuple(_moved(file, rules) for file in files) if rules.moves_by_file else files
    version = _version(files, rules)
    plugins = _merge_plugins(files, rules)
    disabled = [name for file in files for name in strings(file, "disabled_plugins")]
    required = [name for file in files for name in strings(file, "required_plugins")]
    _check_names(version, rules, [*disabled, *required], plugins)
    read = "cri" if version == 1 and not rules.deep_merge else CRI_RUNTIME if rules.deep_merge else GRPC_CRI
    merged = _table(plugins.get(read, {}), f"plugins.{read}")
    if version in rules.moves_old_names:
        merged = _migrated(merged, _table(plugins.get(GRPC_CRI, {}), f"plugins.{GRPC_CRI}"))
    unread = [name for name in ("cri", GRPC_CRI, CRI_RUNTIME) if name != read and name in plugins]
    if version in rules.moves_old_names:
        unread = [name for name in unread if name != GRPC_CRI]
    cri = _with_defaults(merged, rules)
    default, handlers = _handlers(cri, rules)
    stops = (read, GRPC_CRI, CRI_RUNTIME, CRI_IMAGES) if rules.deep_merge else (read,)
    missing = sorted(set(required) & set(disabled))
    return Effective(
        error=f"required plugin {missing} not included" if missing else _refusal(cri, default, handlers, rules),
        files=tuple(file.path for file in files),
        newest_mtime=_newest(files),
        version=version,
        cri_disabled=any(name in disabled for name in stops),
        default_runtime=default,
        handlers=handlers,
        cdi_enabled=bool(cri.get("enable_cdi", False)),
        cdi_spec_dirs=tuple(str(one) for one in cri.get("cdi_spec_dirs", ())),
        address=_address(files, plugins, rules),
        misplaced=tuple(f'plugins."{name}".{path}' for name in unread for path in is_nvidia_cri(plugins[name])),
        shadowed=shadowed(files, (read, GRPC_CRI) if rules.deep_merge else (read,), deep=rules.deep_merge),
    )


def _newest(files: tuple[File, ...]) -> "float | Unread":
    times = [file.mtime for file in files if not isinstance(file.mtime, Unread)]
    if len(times) < len(files):
        return next(file.mtime for file in files if isinstance(file.mtime, Unread))
    return max(times) if times else Unread("absent", "no configuration file: the built-in one is in force")


def _version(files: tuple[File, ...], rules: ContainerdRules) -> int:
    """2.x uses the highest version of all files, 1.x the last one; no version line is version 1."""
    given = [file.data.get("version", 0) for file in files]
    if not given and rules.deep_merge:
        return rules.max_config_version
    first = next((one for one in given if one), 0)
    if rules.measured and not rules.newer_import_ok and max(given, default=0) > first:
        raise ConfigError(f"drop-in config version {max(given)} higher than root config version {first}")
    version = max(given, default=2) if rules.deep_merge else next((one for one in reversed(given) if one), 0 if given else 2)
    if rules.measured and rules.max_config_version and version > rules.max_config_version:
        raise ConfigError(f"found configuration version {version}, this containerd reads up to {rules.max_config_version}")
    return version or 1


def _with_full_names(file: File) -> File:
    """2.x expands the short plugin names of a version 1 file when it loads the file, not later."""
    if file.data.get("version", 0) not in (0, 1):
        return file
    plugins = dict(file.data.get("plugins", {}))
    if "cri" in plugins:
        plugins.setdefault(GRPC_CRI, plugins["cri"])
        del plugins["cri"]
    lists = {key: [_full_name(name) for name in strings(file, key)] for key in ("disabled_plugins", "required_plugins")}
    return file._replace(data={**file.data, "plugins": plugins, **lists})


def _moved(file: File, rules: ContainerdRules) -> File:
    """2.3 migrates each file to its newest version before merging."""
    plugins = dict(file.data.get("plugins", {}))
    if file.data.get("version", 0) >= rules.max_config_version:
        return file
    grpc = file.data.get("grpc", {})
    if GRPC_CRI in plugins:
        old = _table(plugins.pop(GRPC_CRI), f"{file.path}: plugins.{GRPC_CRI}")
        plugins[CRI_RUNTIME] = _migrated(_table(plugins.get(CRI_RUNTIME, {}), f"{file.path}: plugins.{CRI_RUNTIME}"), old)
    if isinstance(grpc, dict) and "address" in grpc:
        plugins[_GRPC_SERVER] = {
            "address": grpc["address"],
            **_table(plugins.get(_GRPC_SERVER, {}), f"{file.path}: plugins.{_GRPC_SERVER}"),
        }
    return file._replace(data={**file.data, "plugins": plugins})


def _full_name(name: str) -> str:
    return GRPC_CRI if name == "cri" else name if "." in name else f"io.containerd.{name}"


def _merge_plugins(files: tuple[File, ...], rules: ContainerdRules) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for file in files:
        for name, value in file.data.get("plugins", {}).items():
            if not rules.deep_merge:
                merged[name] = _table(value, f"{file.path}: plugins.{name}")
            elif name in merged and isinstance(merged[name], dict) and isinstance(value, dict):
                merged[name] = _deep(merged[name], value, f"{file.path}: plugins.{name}")
            else:
                merged[name] = value
    return merged


def _deep(below: Table, above: Table, where: str) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            merged[key] = _deep(old, value, f"{where}.{key}")
        elif key in merged and isinstance(old, dict) != isinstance(value, dict):
            raise ConfigError(f"{where}.{key}: a table in one place, a value in another")
        else:
            merged[key] = value
    return merged


def _check_names(version: int, rules: ContainerdRules, listed: list[str], plugins: Table) -> None:
    if version == 1 or (version < 1 and rules.max_config_version < 3):
        return
    names = [*listed, *(() if rules.deep_merge else plugins)]
    for name in names:
        if not name.startswith(rules.uri_prefix) or name.count(".") < rules.uri_fields - 1:
            raise ConfigError(f"found the plugin name {name!r}, wanted io.containerd.x.vx.name, from version 2 on")


def _migrated(runtime: Table, grpc: Table) -> dict[str, Any]:
    """2.x on a version 2 file: keys below the old name move to the new one unless it has them."""
    containerd = {**_table(grpc.get("containerd", {}), "containerd"), **_table(runtime.get("containerd", {}), "containerd")}
    return {**grpc, **runtime, **({"containerd": containerd} if containerd else {})}


def _with_defaults(cri: Table, rules: ContainerdRules) -> dict[str, Any]:
    """Adds the built-in values: 1.x replaces the whole map of runtimes, 2.x merges into it."""
    options = {"BinaryName": ""} if rules.deep_merge else {"BinaryName": "", "SystemdCgroup": False}
    runtimes = {"runc": {"runtime_type": RUNC_V2, "options": options}}
    defaults: dict[str, Any] = {"containerd": {"default_runtime_name": "runc", "runtimes": runtimes}}
    if rules.knows_cdi:
        defaults |= {"enable_cdi": rules.cdi_default, "cdi_spec_dirs": list(SPEC_DIRS)}
    else:
        cri = {key: value for key, value in cri.items() if key not in ("enable_cdi", "cdi_spec_dirs")}
    keys = schema(rules)
    _check_types(cri, keys.cri, "the CRI plugin")
    _check_types(cri.get("containerd", {}), keys.containerd, "containerd")
    for name, handler in cri.get("containerd", {}).get("runtimes", {}).items():
        _check_types(_table(handler, f"containerd.runtimes.{name}"), keys.handler, f"containerd.runtimes.{name}")
    merged = _deep(defaults, cri, "plugins")
    if not rules.deep_merge and "runtimes" in cri.get("containerd", {}):
        merged["containerd"] = {**merged["containerd"], "runtimes": cri["containerd"]["runtimes"]}
    return merged


def _handlers(cri: Table, rules: ContainerdRules) -> tuple[str, Mapping[str, Table]]:
    """Default runtime and handlers; 1.x also converts the tables default_runtime and untrusted_workload_runtime into runtimes."""
    containerd = cri["containerd"]
    default, handlers = containerd["default_runtime_name"], dict(containerd["runtimes"])
    for key, name in (("default_runtime", "default"), ("untrusted_workload_runtime", "untrusted")):
        old = containerd.get(key, {})
        if not rules.deep_merge and isinstance(old, dict) and old.get("runtime_type"):
            handlers[name] = old
            default = name if key == "default_runtime" else default
    return default, handlers


def _refusal(cri: Table, default: str, handlers: Mapping[str, Table], rules: ContainerdRules) -> str:
    """Why the CRI plugin does not load, as containerd's error: ``config dump`` accepts these, and the daemon runs without CRI."""
    if not default:
        return "invalid plugin config: `default_runtime_name` is empty"
    if default not in handlers:
        return f"invalid plugin config: no corresponding runtime configured in containerd.runtimes for default_runtime_name = {default!r}"
    old_type = handlers[default].get("runtime_type") == "io.containerd.runtime.v1.linux"
    if not rules.deep_merge and cri.get("systemd_cgroup") and not old_type:
        return "invalid plugin config: `systemd_cgroup` only works for runtime io.containerd.runtime.v1.linux"
    return ""


def _address(files: tuple[File, ...], plugins: Table, rules: ContainerdRules) -> str:
    if rules.moves_by_file:
        server = plugins.get(_GRPC_SERVER, {})
        return str(server.get("address", "")) if isinstance(server, dict) else ""
    addresses = [file.data.get("grpc", {}).get("address", "") for file in files]
    return next((one for one in reversed(addresses) if isinstance(one, str) and one), "")


def _table(value: Any, where: str) -> Table:
    if not isinstance(value, dict):
        raise ConfigError(f"{where}: found {type(value).__name__}, wanted a table")
    return value


def _check_types(table: Table, types: Mapping[str, type], where: str) -> None:
    for key, kind in types.items():
        value = table.get(key)
        if key in table and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
            raise ConfigError(f"{where}: {key} is {_WORDS.get(type(value), 'something else')}, wanted {_WORDS[kind]}")


_WORDS = {str: "a string", int: "a number", bool: "true or false", list: "a list", dict: "a table"}
