"""Settings in containerd's files that have no effect."""

from collections.abc import Iterator, Mapping
from typing import Any

from hostagent.core.unread import Unread
from hostagent.domains.runtime.read_containerd_files import File


def is_nvidia_cri(cri: Any) -> tuple[str, ...]:
    """Paths of the NVIDIA entries in one CRI table.

    >>> is_nvidia_cri({"containerd": {"runtimes": {"nvidia": {}, "runc": {}}, "default_runtime_name": "nvidia"}})
    ('containerd.runtimes.nvidia', 'containerd.default_runtime_name')
    """
    containerd = _table(_table(cri).get("containerd"))
    runtimes = _table(containerd.get("runtimes"))
    paths = [f"containerd.runtimes.{name}" for name, entry in runtimes.items() if is_nvidia(name, entry)]
    if is_nvidia(containerd.get("default_runtime_name", ""), None):
        paths.append("containerd.default_runtime_name")
    return tuple(paths)


def is_nvidia(name: Any, entry: Any) -> bool:
    """Whether a runtime is NVIDIA's, by name or binary."""
    binary = _table(_table(entry).get("options")).get("BinaryName", "")
    return str(name).startswith("nvidia") or "nvidia-container-runtime" in str(binary)


def nvidia_entries(data: Mapping[str, Any]) -> tuple[str, ...]:
    """Paths of the NVIDIA entries anywhere below ``plugins`` of one file."""
    return tuple(f'plugins."{name}".{path}' for name, cri in _table(data.get("plugins")).items() for path in is_nvidia_cri(cri))


def shadowed(files: tuple[File, ...], names: tuple[str, ...], *, deep: bool) -> tuple[str, ...]:
    """``DROP-IN: KEY`` for each CRI setting of the main file that an older drop-in overrides with another value.

    `deep`: only keys in the drop-in; otherwise its table replaces the main file's, so that missing keys are overridden too.
    """
    if not files:
        return ()
    main = files[0]
    lost: list[str] = []
    for name in names:
        base = dict(_leaves(_table(main.data.get("plugins")).get(name)))
        above = [file for file in files[1:] if isinstance(_table(file.data.get("plugins")).get(name), dict)]
        for file in above if deep else above[-1:]:
            if isinstance(file.mtime, Unread) or isinstance(main.mtime, Unread) or file.mtime >= main.mtime:
                continue
            over = dict(_leaves(file.data["plugins"][name]))
            lost += [f"{file.path}: {'.'.join(key)}" for key, value in base.items() if over.get(key, value if deep else None) != value]
    return tuple(lost)


def _leaves(table: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(table, dict):
        for key, value in table.items():
            yield from _leaves(value, (*path, key))
    elif path:
        yield path, table


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
