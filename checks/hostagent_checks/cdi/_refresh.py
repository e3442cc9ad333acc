"""What the units that make nvidia-ctk's specification at boot are worth on this host."""

from hostagent.check import skip
from hostagent.derived.access import is_mode_cdi, takes_refreshed, ways
from hostagent.derived.serving import is_in_force, serving
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.unread import need
from hostagent.profile import Profile

from ._specs import skip_without_cdi


def is_spare(runtimes: tuple[Runtime, ...], launchers: Launchers, cdi: Cdi, toolkit: Toolkit, profile: Profile) -> bool:
    """Whether each runtime that takes that specification gives GPUs in another way, too; the check does not apply where none takes it."""
    skip_without_cdi(profile)
    if profile.runtime.kind == "none":
        skip("the profile asks for no container runtime")
    chosen = serving(profile.runtime.kind, runtimes, launchers).runtimes
    if not chosen and "podman" not in need(launchers.programs):
        skip("nothing that starts containers here uses CDI specifications")
    taking = tuple(one for one in chosen if is_in_force(one) and takes_refreshed(one, toolkit))
    if chosen and not taking:
        skip("no runtime that serves jobs uses CDI specifications of nvidia-ctk")
    if not taking or profile.runtime.access == "cdi":
        return False
    return all(_needs_none(one, launchers, cdi, toolkit) for one in taking)


def _needs_none(runtime: Runtime, launchers: Launchers, cdi: Cdi, toolkit: Toolkit) -> bool:
    others = set(ways(runtime, cdi, launchers, toolkit)) - {"cdi"}
    return bool(others - {"handler"}) or ("handler" in others and not is_mode_cdi(toolkit))
