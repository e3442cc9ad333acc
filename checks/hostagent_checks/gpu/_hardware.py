"""Who looks after cooling and power."""

from hostagent.check import Step, Unread
from hostagent.facts.platform import Platform


def provider_s(platform: Platform | Unread) -> tuple[Step, ...]:
    """Of a virtual machine or a container somebody else does; () where the check's own remedy counts."""
    if isinstance(platform, Unread) or isinstance(platform.virtual, Unread) or not platform.virtual:
        return ()
    return (Step("contact_owner", "Ask who runs the machine below this one to check its cooling and power."),)
