"""containerd's configuration with an entry for NVIDIA's runtime: 1.x in the main file, 2.x in a drop-in of ours that the main file imports.

In 1.x an imported file that has the CRI plugin's table replaces that of the main file, so that a drop-in would have to be a copy which
hides each later change; 2.x merges key by key. A drop-in has the version of the main file: a higher one is refused, or keeps the tables
below old names from moving (containerd, 1.6 to 2.3, by ``config dump``).
"""

# 1.x drops the built-in runc entry as soon as the file has any runtime, so runc's is written too. Where an import names a missing
# file, ours goes in front of it: 2.x reads nothing behind.

import posixpath
from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from hostagent.domains.runtime.tables.versions import CRI_RUNTIME, GRPC_CRI, RUNC_V2
from hostagent.facts.runtime import Handler
from hostagent.plan.runtime.texts import parsed, table

DROP_IN = "/etc/containerd/conf.d/hostagent-nvidia.toml"
PROGRAM = "/usr/bin/nvidia-container-runtime"
#: Version of a new main file, by what reads it: 1.x knows no other, 2.x reads 3 in all its releases.
_NEW_1, _NEW_2 = 2, 3
_OWN_OPTIONS = ("BinaryName", "SystemdCgroup")

#: Parsed, in the order in which they are read.
Files = tuple[Mapping[str, Any], ...]


class EditError(ValueError):
    """The file cannot be changed without side effects; the message says why."""


class Change(NamedTuple):
    """The wanted settings. ``entry`` is the table of the nvidia runtime, {} where it stays as it is."""

    entry: Mapping[str, Any]
    cdi: bool
    default: str  # name of the default runtime, "" where it stays as it is

    def tables(self, runtimes: Mapping[str, Any]) -> dict[str, Any]:
        """The CRI plugin's table with nothing but the change."""
        containerd = {**({"default_runtime_name": self.default} if self.default else {}), **({"runtimes": runtimes} if runtimes else {})}
        return {**({"enable_cdi": True} if self.cdi else {}), **({"containerd": containerd} if containerd else {})}


def is_2(version: str) -> bool:
    return version.partition(".")[0].isdecimal() and int(version.partition(".")[0]) >= 2


def entry_like(base: "Handler | None", files: Files, names: tuple[str, ...], *, systemd: bool) -> dict[str, Any]:
    """NVIDIA's entry: a copy of runc's, merged over `files` in the order in which they are read, with its own program.

    `names` are those of the CRI plugin that this version reads, the one with precedence last.
    """
    merged: dict[str, Any] = {}
    for file in files:
        for name in names:
            found = table(file, "plugins", name, "containerd", "runtimes", base.name) if base else {}
            merged = {**merged, **found, "options": {**merged.get("options", {}), **table(found, "options")}}
    options = {key: value for key, value in merged.pop("options", {}).items() if value and key not in _OWN_OPTIONS}
    entry = {key: value for key, value in merged.items() if value}
    entry["runtime_type"] = (base.runtime_type if base else "") or RUNC_V2
    return {**entry, "options": {**options, "BinaryName": PROGRAM, "SystemdCgroup": systemd}}


def with_entry(text: str, change: Change) -> str:
    """1.x: the main file with the change, all else as it is, comments too. Raises ``EditError``."""
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        before = parsed(text)
        document = tomlkit.parse(text)
        wanted = _changes_1(before, change)
        if not text.strip():
            document["version"] = _NEW_1
            wanted = {"version": _NEW_1, **wanted}
        _put(document, wanted)
        after = _spaced(text, tomlkit.dumps(document).rstrip("\n") + "\n")
        if parsed(after) != _merged(before, wanted):
            raise EditError("the file has a form in which an entry cannot be added without changing others")
    except (TOMLKitError, TypeError, AttributeError, KeyError) as error:
        raise EditError(f"the file cannot be changed: {error}") from error
    return after


def _spaced(before: str, after: str) -> str:
    """An empty line before each new entry."""
    for name in ("runc", "nvidia"):
        header = f'[plugins."{GRPC_CRI}".containerd.runtimes.{name}]'
        if header not in before and f"\n\n{header}" not in after:
            after = after.replace(f"\n{header}", f"\n\n{header}", 1)
    return after


def _changes_1(before: Mapping[str, Any], change: Change) -> dict[str, Any]:
    """Adds runc's own entry where the file has no runtimes: 1.x drops the built-in one as soon as it has any."""
    entries: dict[str, Any] = {"nvidia": dict(change.entry)} if change.entry else {}
    if entries and not table(before, "plugins", GRPC_CRI, "containerd", "runtimes"):
        entries = {"runc": {"runtime_type": RUNC_V2}, **entries}
    return {"plugins": {GRPC_CRI: change.tables(entries)}}


def drop_in(version: int, files: Files, change: Change) -> str:
    """2.x: the whole text of our file."""
    import tomlkit

    name = GRPC_CRI if version <= _NEW_1 and not _has_new_name(files) else CRI_RUNTIME
    document = tomlkit.document()
    document.add(tomlkit.comment("Written by hostagent."))
    document.add("version", tomlkit.item(version))
    _put(document, {"plugins": {name: change.tables({"nvidia": dict(change.entry)} if change.entry else {})}})
    return tomlkit.dumps(document).rstrip("\n") + "\n"


def _has_new_name(files: Files) -> bool:
    """Whether the file uses the new name: then 2.x ignores the table of the old one."""
    return any(table(file, "plugins", CRI_RUNTIME, "containerd") for file in files)


def importing(text: str, main: str, *, read: "tuple[str, ...]") -> str:
    """2.x: the main file with an import of our file; the same text where one matches it already. Raises ``EditError``.

    2.x reads no file after a missing one: then ours comes before it. `read` are the files that it reads.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    if not text.strip():
        return f'{text}version = {_NEW_2}\nimports = ["{DROP_IN}"]\n'
    try:
        before = parsed(text)
        listed = before.get("imports", [])
        stops = any(not _is_glob(one) and _path(one, main) not in read for one in listed)
        if any(imports(pattern, main) for pattern in listed) and not stops:
            return text
        document = tomlkit.parse(text)
        wanted = [DROP_IN, *listed] if stops else [*listed, DROP_IN]
        if "imports" in document:
            document["imports"].insert(0 if stops else len(listed), DROP_IN)
        else:
            document["imports"] = wanted
        after = tomlkit.dumps(document)
        if parsed(after) != {**before, "imports": wanted}:
            raise EditError("an import cannot be added without changing what else the file says")
    except (TOMLKitError, TypeError, AttributeError) as error:
        raise EditError(f"the file cannot be changed: {error}") from error
    return after


def imports(pattern: str, main: str) -> bool:
    """Whether 2.x reads our file by this pattern of `main`. One with a class of characters is taken for another.

    >>> [imports(one, "/etc/containerd/config.toml") for one in ("/etc/containerd/conf.d/*.toml", "conf.d/*", "*.toml", "conf.d/99*")]
    [True, True, False, False]
    """
    if any(sign in pattern for sign in "[\\"):
        return False
    parts = _path(pattern, main).split("/")
    wanted = DROP_IN.split("/")
    return len(parts) == len(wanted) and all(fnmatchcase(one, glob) for one, glob in zip(wanted, parts, strict=True))


def _is_glob(pattern: str) -> bool:
    """Whether 2.x expands the pattern, which needs a star; a pattern without a match is no missing file."""
    return "*" in pattern


def _path(pattern: str, main: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(main), pattern))


def _put(below: Any, wanted: Mapping[str, Any]) -> None:
    """Sets values in tables of tomlkit, and creates missing ones."""
    import tomlkit

    for key, value in wanted.items():
        if isinstance(value, Mapping) and isinstance(below.get(key), Mapping):
            _put(below[key], value)
        elif isinstance(value, Mapping):
            made = tomlkit.table(is_super_table=all(isinstance(one, Mapping) for one in value.values()) if value else None)
            _put(made, value)
            if not any(isinstance(one, Mapping) for one in value.values()):
                made.add(tomlkit.nl())
            below[key] = made
        else:
            below[key] = value


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return merged
