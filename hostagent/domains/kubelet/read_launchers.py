"""What starts containers for jobs: kubelets with their runtimes, slurmd, tools without a daemon; and what gives containers GPUs."""

from collections.abc import Callable, Iterable
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.tables.daemons import DOCKER_PROCESS, DOCKER_SNAP, processes, units
from hostagent.core.unread import NOT_THERE, Unread, need, then
from hostagent.domains.kubelet.read_processes import kubelets
from hostagent.domains.kubelet.read_runtimes import Kubelets
from hostagent.domains.runtime.read_places import in_use, search_path
from hostagent.domains.runtime.tables.versions import DRA_DRIVER, KUBELET_ROOTS, NRI_SOCKET, PROVIDER_MOUNTS
from hostagent.domains.slurm.read_node import expects_slurmd
from hostagent.facts.host import Machine, Services
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.host.source import Source
from hostagent.host.values import names_in

_PROGRAMS = ("apptainer", "enroot", "podman", "singularity")
_HOOK = "nvidia-container-runtime-hook"


def read_launchers(source: Source, known: Callable[[type], Any]) -> Launchers:
    machine, services = known(Machine), known(Services)
    slurmd = then(machine, lambda one: one.daemons(*processes("slurm")))
    found = Kubelets(source, kubelets(source, known), known(Runtime), then(machine, lambda one: one.listening_sockets)).in_use()
    used = in_use(services, units("slurm"), then(slurmd, bool))
    return Launchers(
        kubelets=found,
        slurmd=expects_slurmd(source, services, found) if used is False else used,
        programs=_programs(source),
        docker_hook=False
        if _is_in_snap(machine)
        else then(_there(source, (f"{folder}/{_HOOK}" for folder in _dockers_path(machine)), "file", 0o111), bool),
        plugin_sockets=_sockets(source),
        mounted_libraries=_libraries(source),
    )


def _dockers_path(machine: "Machine | Unread") -> tuple[str, ...]:
    return search_path(then(machine, lambda one: one.daemons(DOCKER_PROCESS)))


def _is_in_snap(machine: "Machine | Unread") -> bool:
    """Docker's snap sees no program of the host (nvidia-docker issue 1637)."""
    found = then(machine, lambda one: one.daemons(*units("runtime")[DOCKER_SNAP]))
    return not isinstance(found, Unread) and any(one.unit == f"{DOCKER_SNAP}.service" for one in found if not isinstance(one.unit, Unread))


@stops_at_unread
def _programs(source: Source) -> tuple[str, ...]:
    folders = ("/usr/bin", "/usr/local/bin")
    return tuple(name for name in _PROGRAMS if need(_there(source, (f"{folder}/{name}" for folder in folders), "file", 0o111)))


@stops_at_unread
def _there(source: Source, paths: Iterable[str], kind: str, mode: int = 0) -> tuple[str, ...]:
    """The paths of this kind that have a bit of this mode."""
    found = []
    for path in paths:
        stat = source.stat(path)
        if isinstance(stat, Unread) and stat.why in NOT_THERE:
            continue
        if need(stat).kind == kind and (not mode or need(stat).mode & mode):
            found.append(path)
    return tuple(found)


@stops_at_unread
def _sockets(source: Source) -> tuple[str, ...]:
    paths = [NRI_SOCKET]
    for root in KUBELET_ROOTS:
        for folder, start in ((f"{root}/device-plugins", "nvidia"), (f"{root}/plugins/{DRA_DRIVER}", "dra")):
            names = need(names_in(source, folder))
            paths += [f"{folder}/{name}" for name in names if name.startswith(start) and name.endswith(".sock")]
    return need(_there(source, paths, "socket"))


@stops_at_unread
def _libraries(source: Source) -> tuple[str, ...]:
    paths = [f"{folder}/{name}" for folder in PROVIDER_MOUNTS for name in need(names_in(source, folder)) if name.startswith("libcuda.so.")]
    return tuple(path for path in need(_there(source, paths, "file")) if need(source.stat(path)).size > 0)
