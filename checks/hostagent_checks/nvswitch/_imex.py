"""Whether this host has to run IMEX."""

from hostagent.check import skip
from hostagent.profile import Profile


def skip_unless_required(profile: Profile) -> None:
    """A host does not show whether its jobs share memory across nodes: the profile says it."""
    if not profile.imex.required:
        skip("the profile does not ask for IMEX")
