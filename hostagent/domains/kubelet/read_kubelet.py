"""The kubelet of this host: its start, files, version and effective configuration."""

from collections.abc import Callable
from typing import Any

from hostagent.core.tables.platforms import KUBELETS_IN_CONTAINERS
from hostagent.core.unread import Unread, then
from hostagent.domains.kubelet.read_processes import KubeletUnit, has_joined, idle_units, kubelets
from hostagent.facts.host import Machine, Process, Services
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.host.source import Source

#: The kubelet in a container of its own, and the manager of such containers.
_NAME, _MANAGER = "kubelet", "containerd"
_NONE = Unread("absent", "no kubelet is in use")


def read_kubelet(source: Source, known: Callable[[type], Any]) -> Kubelet:
    """Of several kubelets the running one, else the first, where a package alone counts last."""
    found = kubelets(source, known)
    if isinstance(found, Unread):
        return _all(found)
    if not found:
        processes = then(known(Machine), lambda one: one.processes)
        contained = _in_container(source, known(Platform))
        return _none(_left(source, known, processes)) if contained is None else _contained(contained, processes)
    one = _chosen(source, found)
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


def _chosen(source: Source, found: tuple[KubeletUnit, ...]) -> KubeletUnit:
    """A package's kubelet that has joined no cluster hides no distribution that is down."""
    running = next((one for one in found if one.process is not None), None)
    others = [one for one in found if one.distribution]
    if running is not None or not others or found[0].distribution or has_joined(source) is not False:
        return running or found[0]
    return others[0]


def _contained(unread: Unread, processes: "tuple[Process, ...] | Unread") -> Kubelet:
    """It does not run where the host's processes are seen, its containerd among them, and none is a kubelet."""
    seen = not isinstance(processes, Unread) and any(one.name == _MANAGER for one in processes)
    values: dict[str, Any] = dict.fromkeys(Kubelet.__dataclass_fields__, unread)
    return Kubelet(**{**values, "starter": "", **({"unit": _NAME, "runs": False} if seen else {})})


def _left(source: Source, known: Callable[[type], Any], processes: "tuple[Process, ...] | Unread") -> "bool | Unread":
    """Whether a unit that is disabled or masked has a cluster's credentials; in an image, and without such a unit, absent."""
    units = () if isinstance(processes, Unread) else then(known(Services), lambda those: tuple(idle_units(those)))
    return has_joined(source) or _NONE if units and not isinstance(units, Unread) else _NONE


def _all(unread: Unread) -> Kubelet:
    values: dict[str, Any] = dict.fromkeys(Kubelet.__dataclass_fields__, unread)
    return Kubelet(**{**values, "starter": ""})


def _none(joined: "bool | Unread") -> Kubelet:
    values: dict[str, Any] = dict.fromkeys(Kubelet.__dataclass_fields__, _NONE)
    return Kubelet(**{**values, "unit": "", "runs": False, "state": "absent", "error": "", "joined": joined, "starter": ""})
