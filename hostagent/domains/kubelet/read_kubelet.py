"""The kubelet of this host: its start, files, version and effective configuration."""

from collections.abc import Callable
from typing import Any

from hostagent.core.tables.platforms import KUBELETS_IN_CONTAINERS
from hostagent.core.unread import Unread, then
from hostagent.domains.kubelet.read_processes import find
from hostagent.facts.host import Machine, Services
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.host.source import Source

_NONE = Unread("absent", "no kubelet is in use")


def read_kubelet(source: Source, known: Callable[[type], Any]) -> Kubelet:
    """Of several kubelets the running one, else the first."""
    machine = known(Machine)
    found = find(known(Services), then(machine, lambda one: one.processes))
    if isinstance(found, Unread):
        return _all(found)
    if not found:
        contained = _in_container(source, known(Platform))
        return _none() if contained is None else _all(contained)
    one = next((one for one in found if one.process is not None), found[0])
    packages = then(known(Packages), lambda those: those.installed)
    from hostagent.domains.kubelet.read_running import kubelet_of  # the engine and its tables, where there is one to read

    return kubelet_of(source, one, packages, known)


def _in_container(source: Source, platform: "Platform | Unread") -> "Unread | None":
    """Why a kubelet in a container of the host's manager is not read; None where there is none."""
    path = KUBELETS_IN_CONTAINERS.get(platform.name, "") if isinstance(platform, Platform) and isinstance(platform.name, str) else ""
    there = source.exists(path) if path else False
    if isinstance(there, Unread):
        return there
    return Unread("not-supported", f"the kubelet of {path} runs in a container of its own, which is not looked into") if there else None


def _all(unread: Unread) -> Kubelet:
    return Kubelet(**dict.fromkeys(Kubelet.__dataclass_fields__, unread))


def _none() -> Kubelet:
    values: dict[str, Any] = dict.fromkeys(Kubelet.__dataclass_fields__, _NONE)
    return Kubelet(**{**values, "unit": "", "runs": False, "state": "absent", "error": ""})
