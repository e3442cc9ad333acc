"""The container runtimes that serve jobs, decided once for all checks by the profile and by the components that start containers."""

# A kubelet's endpoint is its flag, else its file with the drop-ins of --config-dir, else its distribution's default; if it is down,
# its unit's flags and environment files. A host that has joined no cluster, and an image, count as one without a kubelet.

from typing import NamedTuple

from hostagent.core.frozen import frozen
from hostagent.core.join import Join, cached
from hostagent.core.unread import Unread, need
from hostagent.domains.runtime.tables.versions import KUBELET_UNITS
from hostagent.facts.host import Services
from hostagent.facts.runtime import Launcher, Launchers, Runtime
from hostagent.profiles.profile import Profile

#: Values of a profile that leave the choice to the host.
_CHOSEN_HERE = ("auto", "any")


class Serving(NamedTuple):
    """The runtimes that must run, accept their configuration and give GPUs."""

    runtimes: tuple[Runtime, ...]
    missing: tuple[str, ...]  # keys of absent runtimes that a kubelet uses
    by: str  # the source of the choice: profile, kubelet, use; none without one

    def has(self, runtime: Runtime) -> bool:
        return any(one.key == runtime.key for one in self.runtimes)


@frozen
class RuntimeChoice(Join):
    """The container runtimes of a host, and those that serve jobs by its profile."""

    launchers: Launchers
    runtimes: tuple[Runtime, ...]
    profile: Profile

    @cached
    def serving(self) -> Serving:
        return serving(self.profile.runtime.kind, self.runtimes, self.launchers)


def serving(kind: str, runtimes: tuple[Runtime, ...], launchers: Launchers) -> Serving:
    """The profile's runtime; else only those that kubelets use; else all that are in use. Raises ``UnreadError``."""
    if kind == "none":
        return Serving((), (), "profile")
    if kind not in _CHOSEN_HERE:
        return _of_kind(kind, runtimes, launchers)
    keys = _kubelet_runtimes(launchers)
    if keys:
        chosen = tuple(one for one in runtimes if one.key in keys and is_there(one))
        return Serving(chosen, tuple(key for key in keys if all(one.key != key for one in chosen)), "kubelet")
    used = _used(runtimes)
    return Serving(used, (), "use" if used else "none")


def needs_cri(runtime: Runtime, choice: RuntimeChoice, services: Services) -> bool:
    """Whether a kubelet may use this containerd: one is in use or installed, the profile asks for it, or it is an image. Docker, nerdctl
    and ctr need no CRI. Raises ``UnreadError``.
    """
    if choice.profile.runtime.kind not in _CHOSEN_HERE or need(choice.launchers.kubelets) or _is_image(runtime):
        return True
    names = {unit.name for unit in need(services.units) if unit.exists}
    return runtime.key not in names or bool(
        names & KUBELET_UNITS.keys()
    )  # without a unit of its own the system is one of Kubernetes (Talos)


def kubelets_of(runtime: Runtime, launchers: Launchers) -> tuple[Launcher, ...]:
    """The kubelets that use this runtime."""
    return tuple(one for one in need(launchers.kubelets) if need(one.runtime) == runtime.key)


def is_there(runtime: Runtime) -> bool:
    """Whether the runtime itself is installed, not only a configuration (readable or not). Raises ``UnreadError``."""
    if isinstance(runtime.state, Unread) and not isinstance(runtime.installed, Unread):
        return runtime.installed
    return _is_unwritten(runtime) or need(runtime.state) != "absent"


def is_in_force(runtime: Runtime) -> bool:
    """Whether its entries are in force, or will be after its first start. Raises ``UnreadError``."""
    return (_is_unwritten(runtime) and not isinstance(runtime.handlers, Unread)) or need(runtime.state) == "accepted"


def _is_unwritten(runtime: Runtime) -> bool:
    return isinstance(runtime.state, Unread) and runtime.state.why == "not-running"


def _kubelet_runtimes(launchers: Launchers) -> tuple[str, ...]:
    """Keys of the kubelets' runtimes; an image, or a host that has joined no cluster, may have no endpoint yet."""
    keys = dict.fromkeys(need(one.runtime) for one in need(launchers.kubelets))
    return tuple(key for key in keys if key)


def _of_kind(kind: str, runtimes: tuple[Runtime, ...], launchers: Launchers) -> Serving:
    """Among several of one kind those that a kubelet uses, else those in use, else all."""
    there = tuple(one for one in runtimes if one.kind == kind and is_there(one))
    if len(there) > 1:
        keys = _kubelet_runtimes(launchers)
        chosen = tuple(one for one in there if one.key in keys) or tuple(one for one in there if need(one.in_use))
        there = chosen or there
    return Serving(there, (), "profile")


def _used(runtimes: tuple[Runtime, ...]) -> tuple[Runtime, ...]:
    """The runtimes in use; in an image with none enabled all installed ones, since one may be enabled at the first boot."""
    used = tuple(one for one in runtimes if need(one.in_use) and is_there(one))
    if not used:
        used = tuple(one for one in runtimes if _is_image(one) and is_there(one))
    return tuple(one for one in used if not (one.key == "containerd" and any(_runs_on(other, one) for other in used)))


def _is_image(runtime: Runtime) -> bool:
    return isinstance(runtime.running, Unread) and runtime.running.why == "not-running"


def _runs_on(docker: Runtime, containerd: Runtime) -> bool:
    """Whether containerd only serves Docker, which does not use its CRI; with NVIDIA handlers it is a separate runtime."""
    if docker.key != "docker":
        return False
    return need(containerd.state) == "cri_disabled" or not need(containerd.nvidia_handlers)
