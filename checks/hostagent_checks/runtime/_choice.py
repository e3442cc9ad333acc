"""The runtimes that serve jobs on this host, and which of their entries are NVIDIA's."""

from hostagent.check import Unread, need, skip
from hostagent.core.tables.platforms import KUBELETS_IN_CONTAINERS
from hostagent.domains.runtime.serving import RuntimeChoice, is_in_force, needs_cri
from hostagent.facts.host import Services
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Handler, Runtime

_BY = {"profile": "the profile names", "kubelet": "the kubelet uses", "use": "in use:", "none": "in use:"}


def skip_unserving(runtime: Runtime, choice: RuntimeChoice) -> None:
    """The check does not apply to a runtime that serves no jobs."""
    kind = choice.profile.runtime.kind
    if kind not in ("auto", "any", runtime.kind):
        skip(f"the profile asks for {'no runtime' if kind == 'none' else kind}, not for {runtime.key}")
    chosen = choice.serving
    if not chosen.has(runtime):
        names = ", ".join((*(one.key for one in chosen.runtimes), *chosen.missing)) or "none"
        skip(f"{runtime.key} serves no jobs here: {_BY[chosen.by]} {names}")


def skip_without_cri_client(runtime: Runtime, choice: RuntimeChoice, services: Services | Unread, platform: Platform | Unread) -> None:
    """The check does not apply to a containerd that no kubelet uses. Units and platform excuse only where they were read."""
    if isinstance(services, Unread) or isinstance(services.units, Unread) or isinstance(platform, Unread):
        return
    if isinstance(platform.name, Unread) or platform.name in KUBELETS_IN_CONTAINERS:
        return
    if not needs_cri(runtime, choice, services):
        skip(f"no kubelet uses {runtime.key}: it needs no CRI")


def serving_ones(choice: RuntimeChoice) -> tuple[Runtime, ...]:
    """Those that serve jobs; the check does not apply where there is none."""
    return choice.serving.runtimes or skip("no container runtime serves jobs here")


def accepted_ones(choice: RuntimeChoice) -> tuple[Runtime, ...]:
    """Those of them whose configuration is in force; the check does not apply where there is none."""
    found = tuple(one for one in serving_ones(choice) if is_in_force(one))
    return found or skip("no container runtime that serves jobs accepts its configuration")


def nvidia_handlers(runtime: Runtime) -> tuple[Handler, ...]:
    """NVIDIA's entries in the effective configuration; the check does not apply where there is none."""
    return need(runtime.nvidia_handlers) or skip(f"{runtime.key} has no NVIDIA runtime entry")
