"""The ways in which GPUs reach the containers of a runtime: several at once, and only those that this runtime can use."""

# The toolkit's hook counts for Docker, and for CRI-O if a file in one of its hooks_dir names it (OpenShift under an Operator
# without CDI); in mode cdi it refuses to run like this. In an image the specification that an enabled nvidia-cdi-refresh makes at
# the first boot counts as present. What makes MIG slices (the DRA driver, nvidia-mig-manager, mig-partition, the Operator's
# mig-manager) turns MIG without slices into information.

from collections.abc import Callable
from typing import NamedTuple

from hostagent.core.frozen import frozen
from hostagent.core.join import Join
from hostagent.core.tables.daemons import SLICE_UNITS
from hostagent.core.unread import NOT_APPLICABLE, Unread, UnreadError, need
from hostagent.domains.runtime.serving import is_in_force, serving
from hostagent.facts.cdi import Cdi, CdiSpec
from hostagent.facts.host import Services
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.toolkit import Toolkit

#: Kinds of the specifications that jobs ask for: nvidia-ctk's, and the device plugin's, which answers for its own alone.
CTK_KIND = "nvidia.com/gpu"
_PLUGIN_VENDOR = "k8s.device-plugin."

_STATIC, _DYNAMIC = "/etc/cdi", "/run/cdi"
#: Where the refresh unit writes at each boot.
_REFRESHED = f"{_DYNAMIC}/nvidia.yaml"


class _Gap(NamedTuple):
    unread: Unread


@frozen
class GpuAccess(Join):
    """What says in which ways a runtime gives GPUs."""

    cdi: Cdi
    launchers: Launchers
    toolkit: Toolkit

    def ways(self, runtime: Runtime) -> tuple[str, ...]:
        return ways(runtime, self.cdi, self.launchers, self.toolkit)


def ways(runtime: Runtime, cdi: Cdi, launchers: Launchers, toolkit: Toolkit) -> tuple[str, ...]:
    """Words: handler, hook, cdi, plugin, dra, nri, mounts. Raises ``UnreadError`` where none is seen and one may be there."""
    found: list[str] = []
    gap: _Gap | None = None
    looks: tuple[tuple[str, Callable[[], bool]], ...] = (
        ("handler", lambda: bool(need(runtime.nvidia_handlers))),
        ("hook", lambda: _has_hook(runtime, launchers, toolkit)),
        ("cdi", lambda: _has_cdi(runtime, cdi)),
        ("plugin", lambda: _has_plugin(runtime, cdi, launchers)),
        ("dra", lambda: _has_dra(runtime, launchers)),
        ("nri", lambda: _has_nri(runtime, cdi, launchers, toolkit)),
        ("mounts", lambda: _has_mounts(runtime, launchers)),
    )
    for word, look in looks:
        try:
            if look():
                found.append(word)
        except UnreadError as error:
            gap = gap or (None if error.unread.why in NOT_APPLICABLE else _Gap(error.unread))
    if not found and gap is not None:
        raise UnreadError(gap.unread)
    return tuple(found)


def ctk_specs(cdi: Cdi) -> tuple[CdiSpec, ...]:
    """The specifications of nvidia-ctk that the CDI library takes."""
    return tuple(spec for spec in need(cdi.specs) if not spec.error and spec.kind == CTK_KIND)


def podman_has_gpus(cdi: Cdi, launchers: Launchers) -> bool:
    """Podman needs no daemon: it reads the two usual directories by itself."""
    if "podman" not in need(launchers.programs):
        return False
    return any(_folder(spec.path) in (_STATIC, _DYNAMIC) for spec in ctk_specs(cdi)) or comes_at_boot(cdi)


def comes_at_boot(cdi: Cdi) -> bool:
    """Whether the first boot of an image makes nvidia-ctk's specification. Raises ``UnreadError``."""
    return isinstance(cdi.generated, Unread) and cdi.generated.why == "not-running" and need(cdi.refresh_enabled)


def takes_refreshed(runtime: Runtime, toolkit: Toolkit) -> bool:
    """Whether what the refresh unit writes is used: by the runtime itself, or by its nvidia handler in mode cdi."""
    return resolves(runtime, _REFRESHED) or (bool(need(runtime.nvidia_handlers)) and is_mode_cdi(toolkit))


def is_mode_cdi(toolkit: Toolkit) -> bool:
    """Then the handler itself needs a specification. Without a config.toml the toolkit's own mode counts, which needs none."""
    mode = toolkit.mode
    return not (isinstance(mode, Unread) and mode.why in NOT_APPLICABLE) and need(mode) == "cdi"


def slurm_has_containers(launchers: Launchers) -> bool:
    """Slurm starts containers by programs that need no daemon."""
    return bool({"enroot", "apptainer", "singularity"} & set(need(launchers.programs))) and need(launchers.slurmd)


def slice_maker(launchers: Launchers, toolkit: Toolkit, services: Services) -> str:
    """What here makes MIG slices by itself, "" for nothing. Raises ``UnreadError``."""
    if _plugged(launchers, "/plugins/"):
        return "the DRA driver"
    for name in SLICE_UNITS:
        unit = need(services.unit(name))
        if unit.exists and need(unit.enabled):
            return f"{name}.service"
    is_operators = _plugged(launchers, "/device-plugins/") and need(toolkit.operator_version)
    return "the GPU Operator's mig-manager" if is_operators else ""


def _has_hook(runtime: Runtime, launchers: Launchers, toolkit: Toolkit) -> bool:
    """Docker's, for --gpus; or CRI-O's, for every container. In mode cdi it refuses to be run like this."""
    if runtime.key == "docker":
        return need(launchers.docker_hook) and not is_mode_cdi(toolkit)
    return runtime.key == "crio" and bool(need(runtime.oci_hooks)) and not is_mode_cdi(toolkit)


def _has_cdi(runtime: Runtime, cdi: Cdi) -> bool:
    return any(resolves(runtime, spec.path) for spec in ctk_specs(cdi)) or (comes_at_boot(cdi) and resolves(runtime, _REFRESHED))


def _has_plugin(runtime: Runtime, cdi: Cdi, launchers: Launchers) -> bool:
    return _plugged(launchers, "/device-plugins/") and any(resolves(runtime, spec.path) for spec in _plugin_specs(cdi))


def _has_dra(runtime: Runtime, launchers: Launchers) -> bool:
    """It writes a specification for each claim, so that an idle node has none."""
    return _plugged(launchers, "/plugins/") and _is_asked(runtime, launchers) and resolves(runtime, f"{_DYNAMIC}/claim.yaml")


def _has_nri(runtime: Runtime, cdi: Cdi, launchers: Launchers, toolkit: Toolkit) -> bool:
    """The Operator's toolkit asks the runtime for devices of a specification, by the runtime's own socket."""
    if not (_plugged(launchers, "/nri/") and _plugged(launchers, "/device-plugins/") and need(toolkit.operator_version)):
        return False
    return runtime.key != "docker" and bool((*ctk_specs(cdi), *_plugin_specs(cdi)))


def _has_mounts(runtime: Runtime, launchers: Launchers) -> bool:
    """The provider's own device plugin mounts the driver's directory."""
    return bool(need(launchers.mounted_libraries)) and _plugged(launchers, "/device-plugins/") and _is_asked(runtime, launchers)


def _plugin_specs(cdi: Cdi) -> tuple[CdiSpec, ...]:
    return tuple(spec for spec in need(cdi.specs) if not spec.error and spec.kind.startswith(_PLUGIN_VENDOR))


def _plugged(launchers: Launchers, folder: str) -> bool:
    return any(folder in path for path in need(launchers.plugin_sockets))


def _is_asked(runtime: Runtime, launchers: Launchers) -> bool:
    return any(need(one.runtime) == runtime.key for one in need(launchers.kubelets))


def reads(runtime: Runtime, path: str) -> bool:
    """Whether a specification is read by the runtime itself, or by its nvidia handler."""
    return resolves(runtime, path) or bool(need(runtime.nvidia_handlers))


def resolves(runtime: Runtime, path: str) -> bool:
    """Whether the runtime takes devices of a specification at this path."""
    return need(runtime.cdi_enabled) and _folder(path) in {_plain(folder) for folder in need(runtime.cdi_spec_dirs)}


def _folder(path: str) -> str:
    return _plain(path.rpartition("/")[0])


def _plain(folder: str) -> str:
    short = folder.rstrip("/")
    return short.removeprefix("/var") if short.startswith("/var/run/") else short


#: Ways that bring GPUs into containers without it.
_WITHOUT = {"mounts", "dra"}


def reached_without(kind: str, runtimes: tuple[Runtime, ...], launchers: Launchers, cdi: Cdi, toolkit: Toolkit) -> str:
    """Why it is not needed, "" where it is: every runtime that serves jobs gives GPUs in another way, or jobs start their containers by
    Apptainer alone. `kind` is the profile's word for the runtime. Raises ``UnreadError``.
    """
    chosen = serving(kind, runtimes, launchers)
    found = [set(ways(one, cdi, launchers, toolkit)) for one in chosen.runtimes if is_in_force(one)]
    if found and len(found) == len(chosen.runtimes) and all(one and one <= _WITHOUT for one in found):
        return f"GPUs reach containers without the toolkit: {', '.join(sorted(set().union(*found)))}"
    if chosen.by == "none" and _has_apptainer_alone(set(need(launchers.programs))) and need(launchers.slurmd):
        return "Slurm's jobs start containers by Apptainer, which needs no toolkit"
    return ""


def _has_apptainer_alone(programs: set[str]) -> bool:
    return bool(programs & {"apptainer", "singularity"}) and not programs & {"enroot", "podman"}
