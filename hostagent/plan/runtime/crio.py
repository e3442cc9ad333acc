"""CRI-O's configuration: a drop-in of ours in crio.conf.d, merged last (crio.conf.d(5))."""

from collections.abc import Mapping
from typing import Any

from hostagent.plan.runtime.containerd import PROGRAM, Change
from hostagent.plan.runtime.texts import table

DROP_IN = "/etc/crio/crio.conf.d/99-hostagent-nvidia.toml"
#: Where nvidia-ctk 1.19.0 writes its drop-in (NVIDIA Container Toolkit, release notes of 1.19.1).
MISPLACED = frozenset(("/etc/crio/conf.d/99-nvidia.toml",))
#: Keys of the usual entry that NVIDIA's copies: its monitor and its annotations (crio.conf(5), table crio.runtime.runtimes).
_COPIED = (
    *("monitor_path", "monitor_cgroup", "monitor_env", "monitor_exec_cgroup"),
    *("allowed_annotations", "privileged_without_host_devices", "container_min_memory"),
)


def entry_like(name: str, files: "tuple[Mapping[str, Any], ...]") -> dict[str, Any]:
    """NVIDIA's entry; an entry of a later file replaces that of an earlier one as a whole."""
    base: Mapping[str, Any] = {}
    for file in files:
        base = table(file, "crio", "runtime", "runtimes", name) or base
    kept = {key: base[key] for key in _COPIED if base.get(key)}
    return {"runtime_path": PROGRAM, "runtime_type": "oci", **kept}


def drop_in(change: Change) -> str:
    """The whole text of our file.

    >>> print(drop_in(Change({"runtime_path": "/usr/bin/nvidia-container-runtime", "runtime_type": "oci"}, False, "")), end="")
    # Written by hostagent.
    <BLANKLINE>
    [crio.runtime.runtimes.nvidia]
    runtime_path = "/usr/bin/nvidia-container-runtime"
    runtime_type = "oci"
    """
    import tomlkit

    runtime: dict[str, Any] = {"default_runtime": change.default} if change.default else {}
    if change.entry:
        runtime["runtimes"] = {"nvidia": dict(change.entry)}
    document = tomlkit.document()
    document["crio"] = _tables({"runtime": runtime})
    return f"# Written by hostagent.\n\n{tomlkit.dumps(document)}"


def _tables(value: Mapping[str, Any]) -> Any:
    """Headers only for the tables that have values of their own."""
    import tomlkit

    made = tomlkit.table(is_super_table=all(isinstance(one, Mapping) for one in value.values()))
    for key, one in value.items():
        made[key] = _tables(one) if isinstance(one, Mapping) else one
    return made
