"""Whether the host itself needs the toolkit."""

from hostagent.check import skip
from hostagent.core.tables.platforms import HOSTS_OWN
from hostagent.profile import Profile


def skip_unneeded(profile: Profile) -> None:
    """The checks of what is installed do not apply where a container brings the toolkit, or where no container runs."""
    if profile.toolkit.owner not in HOSTS_OWN:
        skip(f"the profile leaves the toolkit to {'a container' if profile.toolkit.owner == 'container' else 'the provider'}")
    if profile.toolkit.required == "never":
        skip("the profile asks for no toolkit")
    if profile.runtime.kind == "none" and profile.toolkit.required != "always":
        skip("the profile asks for no container runtime, and so for no toolkit")
