"""Events of this boot that the daemon recorded over all of its passes. Times are seconds since the boot, as the kernel log has them."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread
from hostagent.facts.gpu import Xid
from hostagent.facts.kernel_words import KernelEvent


@frozen
class Fault:
    """One of `GpuEvents`, kept after the kernel log has lost it. The last pass has what ended it."""

    kind: str  # xid, sxid
    xid: Xid
    first: float | Unread  # of its oldest record
    lost: bool  # the kernel log has lost all of its records


@frozen
class KernelFault:
    """One of `KernelWords`, kept after the kernel log has lost it."""

    event: KernelEvent
    is_lost: bool  # the kernel log has lost all of its records


@frozen
class LinkDowns:
    """Times at which a port (``mlx5_0:1``) went down: the newest ones, oldest first."""

    port: str
    times: tuple[float, ...]


@frozen
class History:
    """Not-supported outside the daemon. Each list holds the newest entries."""

    since: float | Unread  # start of the daemon
    now: float | Unread  # last update
    faults: tuple[Fault, ...] | Unread  # by first observation
    link_downs: tuple[LinkDowns, ...] | Unread
    driver_loads: tuple[float, ...] | Unread  # when the driver's module was loaded, the oldest first
    kernel_events: tuple[KernelFault, ...] | Unread = ()  # by first observation; () in files of a release before it
