"""What the daemon has seen of this boot, over all of its passes. Times are seconds since the boot, as the kernel log has them."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread
from hostagent.facts.gpu import Xid


@frozen
class Fault:
    """One of `GpuEvents`, also where the kernel log has lost it since. What has ended it is known to the last pass."""

    kind: str  # xid, sxid
    xid: Xid
    first: float | Unread  # of its oldest record
    lost: bool  # the kernel log has none of its records any more


@frozen
class LinkDowns:
    """When a port (``mlx5_0:1``) was seen to go down, the oldest first: some of the newest."""

    port: str
    times: tuple[float, ...]


@frozen
class History:
    """Not-supported outside the daemon. Each list holds some of the newest."""

    since: float | Unread  # when it began to watch
    now: float | Unread  # when it was last brought up to date
    faults: tuple[Fault, ...] | Unread  # in the order in which each began to be seen
    link_downs: tuple[LinkDowns, ...] | Unread
    driver_loads: tuple[float, ...] | Unread  # when the driver's module was loaded, the oldest first
