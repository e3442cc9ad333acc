"""What the units that make nvidia-ctk's specification at boot are worth on this host."""

from hostagent.check import need, skip
from hostagent.domains.runtime.access import GpuAccess, is_mode_cdi, takes_refreshed
from hostagent.domains.runtime.serving import RuntimeChoice, is_in_force
from hostagent.facts.runtime import Runtime

from ._specs import skip_without_cdi


def is_spare(choice: RuntimeChoice, access: GpuAccess) -> bool:
    """Whether each runtime that takes that specification gives GPUs in another way, too; the check does not apply where none takes it."""
    profile = choice.profile
    skip_without_cdi(profile)
    if profile.runtime.kind == "none":
        skip("the profile asks for no container runtime")
    chosen = choice.serving.runtimes
    if not chosen and "podman" not in need(choice.launchers.programs):
        skip("nothing that starts containers here uses CDI specifications")
    taking = tuple(one for one in chosen if is_in_force(one) and takes_refreshed(one, access.toolkit))
    if chosen and not taking:
        skip("no runtime that serves jobs uses CDI specifications of nvidia-ctk")
    if not taking or profile.runtime.access == "cdi":
        return False
    return all(_needs_none(one, access) for one in taking)


def _needs_none(runtime: Runtime, access: GpuAccess) -> bool:
    others = set(access.ways(runtime)) - {"cdi"}
    return bool(others - {"handler"}) or ("handler" in others and not is_mode_cdi(access.toolkit))
