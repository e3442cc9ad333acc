"""What the kernel hides from a run without rights, as the reason of an answer says it: it is so on every host, whatever its state."""

from hostagent.core.unread import Unread

#: The configuration space of a PCI function, beyond its header; the open files, and the processes, of other users.
TAKES_ADMIN = "takes CAP_SYS_ADMIN"
HIDDEN_FILES = "which files they hold open to this user"
HIDDEN_PROCESSES = "/proc is mounted with hidepid"


def is_hidden(value: object) -> bool:
    """Whether it is unread because this run has too few rights; another "denied" may be a fault of the host.

    >>> is_hidden(Unread("denied", "config: what stands beyond its first 64 bytes takes CAP_SYS_ADMIN")), is_hidden(Unread("denied", "fd"))
    (True, False)
    """
    reasons = (TAKES_ADMIN, HIDDEN_FILES, HIDDEN_PROCESSES)
    return isinstance(value, Unread) and value.why == "denied" and any(reason in value.detail for reason in reasons)
