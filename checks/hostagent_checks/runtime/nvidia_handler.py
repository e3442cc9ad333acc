"""No runtime gives containers a GPU: pods with the nvidia runtime class stay in ContainerCreating.

The words are: no runtime for "nvidia" is configured; or, in Docker: unknown or invalid runtime name: nvidia. What counts is the
effective configuration, as that version merges it: an entry under a plugin name it does not read, in a drop-in that nothing imports or
in a file whose version line is missing has no effect, while 'nvidia-ctk runtime configure' has reported success. Where the profile
accepts CDI too, a runtime with CDI enabled and a specification for NVIDIA's devices is enough.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile

from ._choice import usable_ones

_WANTED = {"handler": "a runtime called nvidia", "either": "a runtime called nvidia, or CDI with a specification"}
#: Where all runtimes write their configuration themselves, and nvidia-ctk's edits have no effect.
_REMEDIES = {
    ("k3s", "rke2"): "Install the toolkit and restart k3s (or rke2): it looks for nvidia-container-runtime as it starts. "
    "Do not edit its config.toml.",
    ("microk8s",): "Add the nvidia entry to /var/snap/microk8s/current/args/containerd-template.toml, or run 'microk8s enable nvidia'.",
}


@check(
    title="A runtime gives containers access to GPUs",
    severity="critical",
    since="0.1",
    remedy="Run 'nvidia-ctk runtime configure --runtime=containerd' (or docker, crio), restart the runtime and run this check again.",
    references=(
        "NVIDIA GPU Operator issues 413, 432 and 549",
        "NVIDIA Container Toolkit issue 1430",
        "NVIDIA Container Toolkit, Installation Guide: configuring containerd",
    ),
)
def nvidia_handler(runtimes: tuple[Runtime, ...], cdi: Cdi, profile: Profile) -> Findings:
    kind, access = profile.runtime.kind, profile.runtime.access
    if kind == "none" or access == "cdi":
        skip("the profile wants no nvidia runtime")
    usable = usable_ones(runtimes, profile)
    if any(need(one.nvidia_handlers) for one in usable):
        return
    by_cdi = access == "either" and any(need(one.cdi_enabled) for one in usable)
    if by_cdi and any(spec.kind == "nvidia.com/gpu" and not spec.error for spec in need(cdi.specs)):
        return
    names = tuple(f"{one.key}: {', '.join(handler.name for handler in need(one.handlers)) or 'none'}" for one in usable)
    remedy = next((text for keys, text in _REMEDIES.items() if all(one.key in keys for one in usable)), "")
    yield fail("no runtime gives access to GPUs", code="absent", found=names, wanted=_WANTED[access], remedy=remedy)
