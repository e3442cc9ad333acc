"""The kubelet of this host: its start, files, version and effective configuration."""

from collections.abc import Callable
from typing import Any

from hostagent.core.retention import WHOLE
from hostagent.core.tables.platforms import KUBELET_CGROUPS, KUBELETS_IN_CONTAINERS
from hostagent.core.unread import NOT_THERE, Unread, then
from hostagent.domains.kubelet.read_processes import KubeletUnit, has_joined, idle_units, kubelets
from hostagent.facts.host import Machine, Services
from hostagent.facts.kubelet import Kubelet
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform
from hostagent.host.source import Source

#: A kubelet in a container of its own.
_NAME = "kubelet"
_NONE = Unread("absent", "no kubelet is in use")


def read_kubelet(source: Source, known: Callable[[type], Any]) -> Kubelet:
    """Of several kubelets the running one, else the first, where a package alone counts last."""
    found = kubelets(source, known)
    if isinstance(found, Unread):
        return _all(found)
    if not found:
        platform = known(Platform)
        contained = _in_container(source, platform)
        if contained is None:
            return _none(_left(source, known))
        return _contained(source, contained, platform.name) if contained.why == "not-supported" else _all(contained)
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


def _contained(source: Source, unread: Unread, platform: str) -> Kubelet:
    """It does not run where the cgroup of the runtime that starts it has a process, and its own has none."""
    own, manager = (_is_populated(source, path) for path in KUBELET_CGROUPS[platform])
    runs = then(manager, lambda one: own if one else True)
    values: dict[str, Any] = dict.fromkeys(Kubelet.__dataclass_fields__, unread)
    if runs is False:
        values |= {"unit": _NAME, "runs": False}
    elif isinstance(runs, Unread) and runs.why != "older-recording":
        values |= {"unit": runs}
    return Kubelet(**{**values, "starter": ""})


def _is_populated(source: Source, cgroup: str) -> "bool | Unread":
    text = source.text(f"{cgroup}/cgroup.events", keep=WHOLE)
    return False if isinstance(text, Unread) and text.why in NOT_THERE else then(text, lambda one: "populated 1" in one)


def _left(source: Source, known: Callable[[type], Any]) -> "bool | Unread":
    """Whether a unit that is disabled or masked has a cluster's credentials; in an image, and without such a unit, absent."""
    processes = then(known(Machine), lambda one: one.processes)
    units = () if isinstance(processes, Unread) else then(known(Services), lambda those: tuple(idle_units(those)))
    joined = has_joined(source) if not isinstance(units, Unread) and units else False
    return _NONE if joined is False else joined


def _all(unread: Unread) -> Kubelet:
    values: dict[str, Any] = dict.fromkeys(Kubelet.__dataclass_fields__, unread)
    return Kubelet(**{**values, "starter": ""})


def _none(joined: "bool | Unread") -> Kubelet:
    values: dict[str, Any] = dict.fromkeys(Kubelet.__dataclass_fields__, _NONE)
    return Kubelet(**{**values, "unit": "", "runs": False, "state": "absent", "error": "", "joined": joined, "starter": ""})
