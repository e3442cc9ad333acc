"""The container runtimes that serve jobs: one answer for every check, by what a profile wants and by who starts containers here."""

# A kubelet's endpoint is its flag, else its file with the drop-ins of --config-dir, else its distribution's place; if it is down,
# its unit's flags and environment files. A host that has joined no cluster, and an image, count as one without a kubelet.

from typing import NamedTuple

from hostagent.core.frozen import frozen
from hostagent.core.join import Join, cached
from hostagent.core.unread import Unread, need
from hostagent.facts.runtime import Launcher, Launchers, Runtime
from hostagent.profiles.profile import Profile

#: Words of a profile that leave the choice to the host.
_CHOSEN_HERE = ("auto", "any")


class Serving(NamedTuple):
    """Who must run, accept its configuration and give GPUs."""

    runtimes: tuple[Runtime, ...]
    missing: tuple[str, ...]  # keys of runtimes that a kubelet asks and that are not there
    by: str  # who says so: profile, kubelet, use; none where nothing does

    def has(self, runtime: Runtime) -> bool:
        return any(one.key == runtime.key for one in self.runtimes)


@frozen
class RuntimeChoice(Join):
    """The container runtimes of a host, and those among them that serve jobs by its profile."""

    launchers: Launchers
    runtimes: tuple[Runtime, ...]
    profile: Profile

    @cached
    def serving(self) -> Serving:
        return serving(self.profile.runtime.kind, self.runtimes, self.launchers)


def serving(kind: str, runtimes: tuple[Runtime, ...], launchers: Launchers) -> Serving:
    """A profile's own word; else the runtime that the kubelets ask, and no other; else each that is in use. Raises ``UnreadError``."""
    if kind == "none":
        return Serving((), (), "profile")
    if kind not in _CHOSEN_HERE:
        return _of_kind(kind, runtimes, launchers)
    asked = _asked(launchers)
    if asked:
        chosen = tuple(one for one in runtimes if one.key in asked and is_there(one))
        return Serving(chosen, tuple(key for key in asked if all(one.key != key for one in chosen)), "kubelet")
    used = _used(runtimes)
    return Serving(used, (), "use" if used else "none")


def kubelets_of(runtime: Runtime, launchers: Launchers) -> tuple[Launcher, ...]:
    """The kubelets that ask this runtime."""
    return tuple(one for one in need(launchers.kubelets) if need(one.runtime) == runtime.key)


def is_there(runtime: Runtime) -> bool:
    """Not only a configuration that no installed program reads, whether it could be read or not. Raises ``UnreadError``."""
    if isinstance(runtime.state, Unread) and not isinstance(runtime.installed, Unread):
        return runtime.installed
    return _is_unwritten(runtime) or need(runtime.state) != "absent"


def is_in_force(runtime: Runtime) -> bool:
    """Whether its entries are in force, or known to be once it has started for the first time. Raises ``UnreadError``."""
    return (_is_unwritten(runtime) and not isinstance(runtime.handlers, Unread)) or need(runtime.state) == "accepted"


def _is_unwritten(runtime: Runtime) -> bool:
    return isinstance(runtime.state, Unread) and runtime.state.why == "not-running"


def _asked(launchers: Launchers) -> tuple[str, ...]:
    """Keys; none where an image, or a host that has joined no cluster, says no endpoint yet."""
    keys = dict.fromkeys(need(one.runtime) for one in need(launchers.kubelets))
    return tuple(key for key in keys if key)


def _of_kind(kind: str, runtimes: tuple[Runtime, ...], launchers: Launchers) -> Serving:
    """Of several of one kind those that a kubelet asks, else those in use, else all."""
    there = tuple(one for one in runtimes if one.kind == kind and is_there(one))
    if len(there) > 1:
        asked = _asked(launchers)
        chosen = tuple(one for one in there if one.key in asked) or tuple(one for one in there if need(one.in_use))
        there = chosen or there
    return Serving(there, (), "profile")


def _used(runtimes: tuple[Runtime, ...]) -> tuple[Runtime, ...]:
    """In an image with nothing enabled something enables it at the first boot: then each that is installed."""
    used = tuple(one for one in runtimes if need(one.in_use) and is_there(one))
    if not used:
        used = tuple(one for one in runtimes if _is_image(one) and is_there(one))
    return tuple(one for one in used if not (one.key == "containerd" and any(_runs_on(other, one) for other in used)))


def _is_image(runtime: Runtime) -> bool:
    return isinstance(runtime.running, Unread) and runtime.running.why == "not-running"


def _runs_on(docker: Runtime, containerd: Runtime) -> bool:
    """Docker needs no CRI of the containerd below it. One that somebody has set up for GPUs is a runtime of its own."""
    if docker.key != "docker":
        return False
    return need(containerd.state) == "cri_disabled" or not need(containerd.nvidia_handlers)
