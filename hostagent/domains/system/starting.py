"""Whether the host is still starting its daemons."""

from hostagent.core.unread import Unread
from hostagent.facts.gpu import GpuEvents
from hostagent.facts.host import Machine


def why_starting(machine: Machine, events: "GpuEvents | Unread", boot_seconds: int) -> str:
    """What can be seen to be under way, "" for nothing; what cannot be seen is no reason to wait."""
    if machine.cloud_init_running is True:
        return "cloud-init still sets this host up"
    uptime = events if isinstance(events, Unread) else events.uptime
    if not isinstance(uptime, Unread) and uptime < boot_seconds:
        return f"the host booted less than {boot_seconds} s ago"
    return ""
