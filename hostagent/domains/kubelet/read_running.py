"""A kubelet that is in use: its start, files, version and effective configuration."""

from collections.abc import Callable
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.tables.daemons import units
from hostagent.core.unread import Unread, UnreadError, need, then
from hostagent.domains.kubelet.config.effective import effective
from hostagent.domains.kubelet.config.machine import machine_of
from hostagent.domains.kubelet.config.model import KubeletInputs
from hostagent.domains.kubelet.read_allocations import read_allocations, read_state_files
from hostagent.domains.kubelet.read_command import parse_flags, unit_environment
from hostagent.domains.kubelet.read_differences import read_differences
from hostagent.domains.kubelet.read_distributions import Command, command
from hostagent.domains.kubelet.read_files import Files, newest_mtime, places
from hostagent.domains.kubelet.read_processes import KubeletUnit, has_joined
from hostagent.domains.kubelet.read_version import read_version
from hostagent.domains.kubelet.tables.defaults import DROPINS_VARIABLE
from hostagent.domains.runtime.tables.versions import KUBELET_CREDENTIALS
from hostagent.facts.host import Machine
from hostagent.facts.kubelet import Kubelet
from hostagent.host.source import Source


def kubelet_of(source: Source, found: KubeletUnit, packages: Any, known: Callable[[type], Any]) -> Kubelet:
    started = _command(source, found)
    words = then(started, lambda one: one.words)
    program = "" if isinstance(words, Unread) else next(iter(words), "")
    flags = then(words, parse_flags)
    where = then(flags, lambda those: places(those, found.distribution))
    files = then(where, lambda those: _files(source, those.config, those.config_dir))
    version = read_version(source, found.distribution, program, packages)
    inputs = then(files, lambda those: _inputs(source, found, version, words, those))
    states = then(where, lambda those: read_state_files(source, those.root))
    view = then(inputs, lambda one: effective(one, machine_of(known, need(states))))
    names = then(files, lambda those: tuple(path for path, data in those if not isinstance(data, Unread)))
    return Kubelet(
        unit=found.name,
        version=version,
        runs=_runs(found, known(Machine)),
        started_at=found.process.started_at if found.process is not None else Unread("absent", f"{found.name} does not run"),
        config_files=names,
        newest_config_mtime=then(names, lambda those: newest_mtime(source, found, (*those, *need(started).files))),
        configz_differs=read_differences(source, then(view, lambda one: one.config), runs=found.process is not None),
        given=then(where, lambda those: read_allocations(source, those.root, need(states), runs=found.process is not None)),
        joined=_joined(source, found, flags),
        starter=found.starter,
        **{name: then(view, lambda one, name=name: getattr(one, name)) for name in _JUDGED},  # type: ignore[misc]
    )


@stops_at_unread
def _command(source: Source, found: KubeletUnit) -> Command:
    return command(source, found)


@stops_at_unread
def _joined(source: Source, found: KubeletUnit, flags: "dict[str, str] | Unread") -> "bool | Unread":
    """Whether it has credentials of a cluster. A package enables a kubelet that has joined none: kubeadm's waits in a crash loop."""
    if found.process is not None:
        return True
    if found.starter:
        return need(has_joined(source))
    if found.distribution:
        return Unread("not-supported", f"{found.distribution} has its credentials elsewhere")
    if "--kubeconfig" not in need(flags):
        return bool({"--config", "--config-dir"} & set(need(flags)))
    return any(need(source.exists(path)) for path in KUBELET_CREDENTIALS)


_JUDGED = ("state", "error", "config", "origin", "judged_as", "refused_state_files")


def _runs(found: KubeletUnit, machine: "Machine | Unread") -> "bool | Unread":
    if found.process is not None:
        return True
    if not units("kubelet", "supervisor").get(found.name, ("",)):  # no process of it is known by name
        return then(found.unit, lambda one: one.active)
    processes = then(machine, lambda one: one.processes)
    return processes if isinstance(processes, Unread) else False


@stops_at_unread
def _files(source: Source, config: str, config_dir: str) -> "tuple[tuple[str, bytes | Unread], ...]":
    return Files(source).all(config, config_dir)


@stops_at_unread
def _inputs(source: Source, found: KubeletUnit, version: "str | Unread", words: Any, files: Any) -> KubeletInputs:
    try:
        variables = unit_environment(source, found.unit)
    except UnreadError:  # an unread variable must not make the kubelet rejected
        variables = ((DROPINS_VARIABLE, ""),)
    return KubeletInputs(version, then(words, lambda those: those[1:]), files, variables)
