"""The specifications that count on this host."""

from hostagent.check import need, skip
from hostagent.facts.cdi import Cdi, CdiSpec
from hostagent.profile import Profile


def skip_without_cdi(profile: Profile) -> None:
    """Where containers get GPUs by the handler alone, no specification matters."""
    if profile.runtime.access == "handler":
        skip("containers get GPUs by the runtime handler, the profile says, not by CDI")


def valid_specs(cdi: Cdi, profile: Profile) -> tuple[CdiSpec, ...]:
    """Those that the CDI library takes; the check does not apply where there is none, or where none matters."""
    skip_without_cdi(profile)
    return tuple(spec for spec in need(cdi.specs) if not spec.error) or skip("no CDI specification of NVIDIA's")
