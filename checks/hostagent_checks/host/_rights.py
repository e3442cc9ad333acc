"""What an ordinary user, or an agent without privileges, may not read: worth knowing, and no more."""

from hostagent.check import Finding, Step, Unread, need, warn
from hostagent.domains.system.rights import is_expected
from hostagent.facts.host import Identity
from hostagent.profile import Profile

_AS_ROOT = (Step("rerun", "Run 'hostagent check' as root on the host."),)


def is_refused(gap: Unread, identity: Identity | Unread, profile: Profile) -> bool:
    """Whether this user, or an agent without privileges, cannot read it."""
    return is_expected(gap, identity, unprivileged=profile.pci_configuration == "optional")


def not_read(gap: Unread, what: str, identity: Identity | Unread, profile: Profile) -> Finding:
    """The finding of an expected refusal; another gap raises ``UnreadError``."""
    if not is_refused(gap, identity, profile):
        need(gap)
    return warn(
        f"{what} was not read: {': '.join(filter(None, ('permission denied', gap.detail)))}",
        code="not-read",
        found="not read",
        wanted="read",
        headline=f"{what[:1].upper()}{what[1:]} was not read",
        remedy=_AS_ROOT,
        at_most="info",
        about=gap,
    )
