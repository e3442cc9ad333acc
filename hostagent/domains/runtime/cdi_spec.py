"""Parser of one CDI specification (YAML or JSON), which rejects the files that the CDI library rejects."""

# Two CDI files of one directory that define the same device remove it, even if a later directory defines it again (measured).

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hostagent.core.retention import Keep

_VENDOR_OR_CLASS = re.compile(r"[A-Za-z](?:[\w.-]*[A-Za-z0-9])?", re.ASCII)
_DEVICE = re.compile(r"[A-Za-z0-9](?:[\w.:-]*[A-Za-z0-9])?", re.ASCII)
_LIBRARY = re.compile(r"lib(?:cuda|nvidia-ml)\.so\.(\d+(?:\.\d+)+)", re.ASCII)
_HOOKS = frozenset({"prestart", "createRuntime", "createContainer", "startContainer", "poststart", "poststop"})
#: Lists of a device's edits, and the required keys of their entries.
_SECTIONS: Mapping[str, tuple[str, ...]] = {
    "env": (),
    "mounts": ("hostPath", "containerPath"),
    "deviceNodes": ("path",),
    "hooks": ("path", "hookName"),
}
#: Field, and the first CDI version that has it (CDI specification, SPEC.md, released versions).
_SINCE = {"annotations": (0, 6), "intelRdt": (0, 7), "additionalGids": (0, 7), "netDevices": (1, 1)}
_EDITS = ("env=", "mounts/hostPath", "mounts/containerPath~", "mounts/type~", "deviceNodes/path", "deviceNodes/hostPath",
          "deviceNodes/major#", "hooks/path", "hooks/hookName", *(f"{one}~" for one in _SINCE))  # fmt: skip
KEEP = Keep(
    "yaml",
    (
        *("cdiVersion", "kind", "devices/name", *(f"{holder}{one}~" for holder in ("", "devices/") for one in _SINCE)),
        *(f"{holder}containerEdits/{one}" for holder in ("", "devices/") for one in _EDITS),
    ),
)


class CdiError(ValueError):
    """The CDI library rejects this file; the message has the reason."""


class ParsedSpec(NamedTuple):
    """``host_paths`` are in the order of the file, without repetition."""

    cdi_version: str
    kind: str
    devices: tuple[str, ...]
    library_versions: tuple[str, ...]
    host_paths: tuple[str, ...]
    uvm_majors: tuple[int, ...]


def parse_spec(data: bytes) -> ParsedSpec:
    """One specification; raises ``CdiError``.

    >>> parse_spec(b'{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "0", "containerEdits":'
    ...            b'{"deviceNodes": [{"path": "/dev/nvidia0"}]}}]}').devices
    ('0',)
    """
    spec = _want(_load(data), dict, "the file")
    kind = _want(spec.get("kind"), str, "kind")
    vendor, _, class_ = kind.partition("/")
    for word in (vendor, class_):
        if not _VENDOR_OR_CLASS.fullmatch(word):
            raise CdiError(f"found the kind {kind[:60]!r}, wanted vendor/class")
    devices = [_want(one, dict, "a device") for one in _rows(spec, "devices")]
    names = tuple(_device_name(one) for one in devices)
    if len(set(names)) != len(names):
        raise CdiError("found one device name twice")
    if not names:
        raise CdiError("found no devices")
    edits = [_edits(spec), *(_edits(one) for one in devices)]
    if not all(any(one.values()) for one in edits[1:]):
        raise CdiError("found a device without container edits")
    parts = list(_parts(edits))
    version = _want(spec.get("cdiVersion"), str, "cdiVersion")
    _refuse_newer(version, class_, [spec, *devices, *edits], names, parts)
    return _to_spec(version, kind, names, parts)


def _to_spec(version: str, kind: str, names: tuple[str, ...], parts: list[tuple[str, Mapping[str, Any]]]) -> ParsedSpec:
    paths: dict[str, None] = {}
    libraries: dict[str, None] = {}
    majors: dict[int, None] = {}
    for section, part in parts:
        path = _want(part.get("path") if section == "hooks" else part.get("hostPath") or part.get("path"), str, f"a path in {section}")
        paths[path] = None
        library = _LIBRARY.fullmatch(path.rpartition("/")[2])
        if library and section == "mounts":
            libraries[library[1]] = None
        if section == "deviceNodes" and str(part.get("path")).startswith("/dev/nvidia-uvm") and isinstance(part.get("major"), int):
            majors[part["major"]] = None
    return ParsedSpec(version, kind, names, tuple(libraries), tuple(paths), tuple(major for major in majors if major))


def _load(data: bytes) -> Any:
    import json

    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        pass
    from hostagent.core.yamlfile import YamlError, parse_foreign_yaml

    try:
        return parse_foreign_yaml(data)
    except YamlError as error:
        raise CdiError(str(error)[:200]) from error


def _want(value: Any, kind: type, what: str) -> Any:
    if not isinstance(value, kind) or value == "":
        raise CdiError(f"{what}: found {type(value).__name__ if value != '' else 'nothing'}, wanted {kind.__name__}")
    return value


def _rows(holder: Mapping[str, Any], key: str) -> list[Any]:
    rows = holder.get(key)
    return [] if rows is None else list(_want(rows, list, key))


def _device_name(device: Mapping[str, Any]) -> str:
    name = device.get("name")
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)  # the library's YAML reader turns a plain 0 into text as well
    name = _want(name, str, "a device's name")
    if not _DEVICE.fullmatch(name):
        raise CdiError(f"found the device name {name[:60]!r}")
    return str(name)


def _edits(holder: Mapping[str, Any]) -> Mapping[str, Any]:
    edits = holder.get("containerEdits")
    return {} if edits is None else _want(edits, dict, "containerEdits")


def _parts(edits: list[Mapping[str, Any]]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each mount, device node and hook, refused where the library refuses it.

    A list that many devices share by an alias is looked at once, so that a small file cannot cost minutes.
    """
    seen: set[int] = set()
    for one in edits:
        for section, wanted in _SECTIONS.items():
            if id(one.get(section)) not in seen:
                seen.add(id(one.get(section)))
                for row in _rows(one, section):
                    if section == "env":
                        _refuse_variable(row)
                    else:
                        yield section, _refuse_part(section, row, wanted)


def _refuse_variable(row: Any) -> None:
    if "=" not in _want(row, str, "env")[1:]:
        raise CdiError("found an environment variable without a value, wanted NAME=VALUE")


def _refuse_part(section: str, row: Any, wanted: tuple[str, ...]) -> Mapping[str, Any]:
    part: Mapping[str, Any] = _want(row, dict, section)
    for key in wanted:
        _want(part.get(key), str, f"{section}: {key}")
    if section == "hooks" and part["hookName"] not in _HOOKS:
        raise CdiError(f"found the hook {part['hookName'][:60]!r}")
    return part


def _refuse_newer(
    version: str, class_: str, holders: list[Mapping[str, Any]], names: tuple[str, ...], parts: list[tuple[str, Mapping[str, Any]]]
) -> None:
    """The library refuses a file that uses more than the version it declares."""
    match = re.fullmatch(r"v?(\d{1,4})\.(\d{1,4})\.(\d{1,4})", version, re.ASCII)
    if not match:
        raise CdiError(f"found cdiVersion {version[:60]!r}, wanted one like 0.5.0")
    wanted = [since for key, since in _SINCE.items() if any(holder.get(key) for holder in holders)]
    wanted += [(0, 6)] * ("." in class_)
    wanted += [(0, 5)] * (
        any(name[0].isdigit() for name in names) or any(key == "deviceNodes" and "hostPath" in part for key, part in parts)
    )
    wanted += [(0, 4)] * any(key == "mounts" and "type" in part for key, part in parts)
    least = max(wanted, default=(0, 1))
    if (int(match[1]), int(match[2])) < least:
        raise CdiError(f"found cdiVersion {version}, wanted at least {least[0]}.{least[1]}.0 for what the file uses")
