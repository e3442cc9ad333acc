"""Runtimes that serve jobs here without giving them every GPU, and the missing configuration."""

# An entry works with its program, a type, and the cgroup driver of the kubelet, else of the default runtime. The answer is from
# the begin of a run: a continued run knows its steps (`Asked.continued`), because half-way the facts would say that CDI does it.
# microk8s, k0s and Docker's snap are refused with their own command.

from typing import NamedTuple

from hostagent.core.unread import Unread, need
from hostagent.domains.runtime.access import CTK_KIND, ways
from hostagent.domains.runtime.serving import kubelets_of, serving
from hostagent.domains.runtime.tables.versions import RUNC_V2
from hostagent.facts.gpu import Gpu
from hostagent.facts.runtime import Handler, Runtime
from hostagent.plan.model import Given
from hostagent.plan.view import View

_HANDLERS = frozenset(("handler", "hook"))
#: They write their configuration themselves as they start.
FIND_THEMSELVES = frozenset(("k3s", "rke2"))


class Need(NamedTuple):
    """Missing configuration of a runtime. ``default``: the name that its default runtime must have, "" where it has it."""

    runtime: Runtime
    handler: bool
    cdi: bool
    default: str

    @property
    def is_any(self) -> bool:
        return self.handler or self.cdi or bool(self.default)


def config_step(key: str) -> str:
    return f"runtime.{key}.config"


def restart_step(key: str) -> str:
    return f"runtime.restart-{key}"


def needs(given: Given) -> tuple[Need, ...]:
    """One for each runtime that serves jobs, whether it lacks anything or not. Raises ``UnreadError``."""
    view = given.view
    chosen = serving(given.profile.runtime.kind, need(view.runtimes), need(view.launchers))
    return tuple(_need(given, one) for one in chosen.runtimes if not _is_unwritten(one) and not _is_left_alone(given, one))


def _is_left_alone(given: Given, runtime: Runtime) -> bool:
    """Whether the request wants Docker with its configuration unchanged."""
    asked = given.asked.docker
    return runtime.kind == "docker" and asked is not None and not asked.configure


def _need(given: Given, runtime: Runtime) -> Need:
    if need(runtime.state) != "accepted":
        return Need(runtime, handler=True, cdi=False, default="")
    access, default = given.profile.runtime.access, given.profile.runtime.default_runtime
    lacks_cdi = access == "cdi" and not need(runtime.cdi_enabled)
    lacks_entry = access != "cdi" and _lacks_entry(given, runtime)
    other = default if default and need(runtime.default_runtime) != default else ""
    lacks_entry = lacks_entry or (other == "nvidia" and not entry_works(given.view, runtime))
    return Need(runtime, lacks_entry, lacks_cdi, other)


def _lacks_entry(given: Given, runtime: Runtime) -> bool:
    """True also for an entry called nvidia that cannot work."""
    if entry_works(given.view, runtime):
        return False
    if any(one.name == "nvidia" for one in need(runtime.handlers)) or config_step(runtime.key) in given.asked.continued:
        return True
    view = given.view
    found = set(ways(runtime, need(view.cdi), need(view.launchers), need(view.toolkit))) - {"handler"}
    if any(one.nvidia and _is_whole(given.view, one, runtime) for one in need(runtime.handlers)):
        found.add("handler")
    if "cdi" in found and not names_every_gpu(view):
        found.discard("cdi")
    return not (found & _HANDLERS if given.profile.runtime.access == "handler" else found)


def entry_works(view: View, runtime: Runtime) -> bool:
    """Whether an entry called nvidia starts containers in the right cgroups, by NVIDIA's program. Raises ``UnreadError``."""
    return any(one.name == "nvidia" and _is_whole(view, one, runtime) for one in need(runtime.handlers))


def _is_whole(view: View, entry: Handler, runtime: Runtime) -> bool:
    """Whether the entry is complete; its program may be missing, because the toolkit's packages bring it back."""
    if runtime.kind != "containerd":
        return bool(entry.binary)
    wanted = _kubelets_driver(view, runtime) or need(runtime.cgroup_driver)
    found = "systemd" if need(entry.systemd_cgroup) else "cgroupfs"
    return bool(entry.runtime_type) and "nvidia" in entry.binary and found == wanted


def uses_systemd(view: View, runtime: Runtime) -> bool:
    """Whether a new entry uses systemd cgroups: as the kubelet, else as runc. Raises ``UnreadError``."""
    driver, base = _kubelets_driver(view, runtime), base_of(runtime)
    return driver == "systemd" if driver else base is not None and need(base.systemd_cgroup)


def _kubelets_driver(view: View, runtime: Runtime) -> str:
    """systemd, cgroupfs; "" where no kubelet uses this runtime, or none sets it."""
    drivers = (need(one.cgroup_driver) for one in kubelets_of(runtime, need(view.launchers)))
    return next((one for one in drivers if one), "")


def base_of(runtime: Runtime) -> "Handler | None":
    """The entry that NVIDIA's is made like: runc, else the default one where it starts containers in runc's way. Raises ``UnreadError``."""
    entries = {one.name: one for one in need(runtime.handlers)}
    default = entries.get(need(runtime.default_runtime))
    is_like_runc = default is not None and not default.nvidia and default.runtime_type in ("", RUNC_V2)
    return entries.get("runc") or (default if is_like_runc else None)


def names_every_gpu(view: View) -> bool:
    """Whether nvidia-ctk's specifications name each GPU that is here; one that comes at the first boot of an image does. Raises
    ``UnreadError``.
    """
    if isinstance(view.gpus, Unread) and view.gpus.why in ("absent", "not-running"):
        return True
    names = {name.partition("=")[2] for name in need(need(view.cdi).devices) if name.partition("=")[0] == CTK_KIND}
    if not names:  # it comes at the first boot
        return view.kind == "image"
    return names == {"all"} or all(_is_named(one, names) for one in need(view.gpus))


def _is_named(gpu: Gpu, names: set[str]) -> bool:
    if isinstance(gpu.index, Unread):  # an image, or a driver that does not run: its number is unknown
        return gpu.index.why in ("absent", "not-running", "not-supported")
    uuid = "" if isinstance(gpu.uuid, Unread) else gpu.uuid
    slices = (f"{gpu.index}:", f"mig{gpu.index}:")
    is_sliced = not isinstance(gpu.mig, Unread) and gpu.mig.current
    return bool({str(gpu.index), f"gpu{gpu.index}", uuid} & names) or is_sliced or any(name.startswith(slices) for name in names)


def _is_unwritten(runtime: Runtime) -> bool:
    """Whether it has never started: it writes its entry at its first start."""
    return isinstance(runtime.state, Unread) and runtime.state.why == "not-running"
