"""Kubelets in use on this host, and their command lines."""

# A unit that is neither enabled nor active is in use where a program of its platform starts it (KUBELET_STARTERS) and the host has a
# cluster's credentials; without them where that program is enabled, unless the instance got no user data (one that an image is made of).
# An administrator's disabled kubelet is not in use; nor is one in an image, or while another runs.

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from hostagent.core.answers import ARGUMENT_BYTES, ARGUMENTS
from hostagent.core.parsing import stops_at_unread
from hostagent.core.tables.daemons import processes as names_of
from hostagent.core.tables.platforms import KUBELET_STARTERS, STARTS_WITHOUT_CLUSTER, USER_DATA
from hostagent.core.unread import NOT_THERE, Unread, need, then
from hostagent.domains.kubelet.read_command import unit_command
from hostagent.domains.runtime.read_places import in_use
from hostagent.domains.runtime.tables.versions import KUBELET_CREDENTIALS, KUBELET_SEEN_ONLY, KUBELET_UNITS
from hostagent.facts.host import Machine, Process, Services, Unit
from hostagent.facts.platform import Platform
from hostagent.host.source import Source

_PROGRAM = "kubelet"
_OF_CONTAINERD = "/agent/etc/containerd/config.toml"


class KubeletUnit(NamedTuple):
    """One kubelet, by its unit."""

    name: str  # without .service
    distribution: str  # k3s, rke2, microk8s or k0s; "" for a kubelet with its own unit
    unit: Unit | Unread
    process: Process | None  # trusted to be its unit's
    data: str = ""  # the data directory of k3s or RKE2, by the file that its containerd reads; "" for the usual one
    starter: str = ""  # where its own unit is not enabled: the unit of its platform that starts it

    @property
    def argv(self) -> "tuple[str, ...] | Unread":
        """The command line of its process, unread where the kernel's was cut."""
        if self.process is None:
            return Unread("absent", f"{self.name} does not run")
        argv = self.process.argv
        if len(argv) >= ARGUMENTS or any(len(word.encode("utf-8", "replace")) >= ARGUMENT_BYTES for word in argv):
            return Unread("error", f"the command line of {self.process.name} (pid {self.process.pid}) is longer than what is read of it")
        return argv

    def command(self, source: Source) -> "tuple[str, ...] | Unread":
        """The command line of its process, else of its unit's ExecStart: the program first."""
        return self.argv if self.process is not None else then(unit_command(source, self.unit), own_words)

    def flag_words(self, source: Source) -> "tuple[str, ...] | Unread":
        """Words with flags: of the process as far as read, else of the unit's ExecStart."""
        return self.process.argv if self.process is not None else unit_command(source, self.unit)


def own_words(words: tuple[str, ...]) -> "tuple[str, ...] | Unread":
    """The kubelet's words of a command line that may start it by another program (kubenswrapper of OpenShift, numactl, hyperkube).

    >>> own_words(("/usr/bin/numactl", "--membind=0", "/usr/bin/kubelet", "--v=2"))
    ('/usr/bin/kubelet', '--v=2')
    """
    first = next((number for number, word in enumerate(words) if word.rpartition("/")[2] == _PROGRAM), None)
    if words and first is None:
        return Unread("error", f"the unit starts {words[0][:80]}, and how that starts a kubelet is not known")
    return words[first:]


def kubelets(source: Source, known: Callable[[type], Any]) -> "tuple[KubeletUnit, ...] | Unread":
    """The kubelets in use on this host by unit, those first that their units show."""
    services, processes = known(Services), then(known(Machine), lambda machine: machine.processes)
    found = find(services, processes)
    if isinstance(found, Unread) or found or isinstance(processes, Unread):
        return found
    return _started_by_platform(source, services, known)


@stops_at_unread
def _started_by_platform(source: Source, services: "Services | Unread", known: Callable[[type], Any]) -> tuple[KubeletUnit, ...]:
    unit = next((one for one in idle_units(services) if need(one.masked) is False), None)
    platform: Platform | Unread = known(Platform) if unit is not None else Unread("absent", "no kubelet")
    name = platform.name if isinstance(platform, Platform) else ""
    starter = "" if isinstance(name, Unread) else KUBELET_STARTERS.get(name, "")
    if unit is None or not starter:
        return ()
    if not need(has_joined(source)) and not (starter in STARTS_WITHOUT_CLUSTER and need(_has_data(source, starter))):
        return ()
    return (KubeletUnit(unit.name, "", unit, None, starter=starter),)


def idle_units(services: "Services | Unread") -> Iterator[Unit]:
    """Units of kubelets with a unit of their own that exist. Raises ``UnreadError``."""
    for name, distribution in KUBELET_UNITS.items():
        unit = need(services).unit(name)
        if not distribution and not _is_unlooked(unit) and need(unit).exists:
            yield need(unit)


@stops_at_unread
def has_joined(source: Source) -> bool:
    """Whether a cluster's credentials of a kubelet are where installers put them."""
    found = [source.exists(path) for path in KUBELET_CREDENTIALS]
    return any(one is True for one in found) or any(need(one) for one in found if not _is_unasked(one))


@stops_at_unread
def _has_data(source: Source, starter: str) -> bool:
    """Whether this unit is enabled, and the instance may have got the data by which it joins a cluster."""
    if not isinstance(source.readlink(f"/etc/systemd/system/multi-user.target.wants/{starter}.service"), str):
        return False
    data = source.stat(USER_DATA)
    if isinstance(data, Unread) and data.why in NOT_THERE:
        return True  # cloud-init makes the file, be it empty
    return not _is_unasked(data) and need(data).size > 0


def _is_unasked(answer: object) -> bool:
    """Of a recording that was made before this was looked for."""
    return isinstance(answer, Unread) and answer.why == "older-recording"


@stops_at_unread
def find(services: "Services | Unread", processes: "tuple[Process, ...] | Unread") -> tuple[KubeletUnit, ...]:
    """Kubelets by unit. One inside another program (k0s, RKE2) counts by the kubelet in its cgroup, or by its unit."""
    listed = () if isinstance(processes, Unread) and processes.why == "not-running" else need(processes)
    named = [one for one in listed if one.name in names_of("kubelet")]
    running = {one.unit.removesuffix(".service"): one for one in reversed(named) if not isinstance(one.unit, Unread)}
    if not running:
        need(next((one.unit for one in named if isinstance(one.unit, Unread)), ""))
    found = []
    for name, distribution in KUBELET_UNITS.items():
        unit = need(services).unit(name)
        used = False if name in KUBELET_SEEN_ONLY or _is_unlooked(unit) else in_use(services, (name,), name in running)
        if name in running or need(used):
            found.append(KubeletUnit(name, distribution, unit, running.get(name), _data_directory(listed, name)))
    others = (KubeletUnit(name, "", Unread("absent", name), one) for name, one in running.items() if name not in KUBELET_UNITS)
    return (*found, *others)


def _data_directory(processes: tuple[Process, ...], unit: str) -> str:
    """The directory above agent/etc/containerd of the containerd in this unit."""
    mine = (one for one in processes if one.name == "containerd" and one.unit == f"{unit}.service")
    words = next((one.argv for one in mine), ())
    return next((word.removesuffix(_OF_CONTAINERD) for word in words if word.startswith("/") and word.endswith(_OF_CONTAINERD)), "")


def _is_unlooked(unit: "Unit | Unread") -> bool:
    return isinstance(unit, Unread) and unit.why == "not-recorded"
