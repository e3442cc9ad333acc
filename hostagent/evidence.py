"""Where a command reads a host, and the backend that reads it. Light: a live backend's worker should start before all else."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hostagent.source.live import LiveBackend
    from hostagent.source.tape import ReplayBackend


class Evidence(NamedTuple):
    """At most one of the three directories or files; none of them is this machine."""

    host_root: str = ""  # a live host whose / is mounted there
    root: str = ""  # an image tree that is not running
    kernel: str = ""  # the kernel an image will boot
    snapshot: str = ""  # a recorded host
    deadline_s: float = 30


def open_host(evidence: Evidence) -> "LiveBackend | ReplayBackend":
    """The backend of the evidence. Raises ``HostagentError`` for a directory or a file of another kind."""
    if evidence.snapshot:
        from hostagent.source import tape

        return tape.ReplayBackend(tape.load(evidence.snapshot))
    from hostagent.source.live import LiveBackend, refuse_wrong_root

    if evidence.root:
        refuse_wrong_root(evidence.root, "image", evidence.kernel)
        return LiveBackend(evidence.root, "image", deadline_s=evidence.deadline_s, kernel=evidence.kernel)
    if evidence.host_root:
        refuse_wrong_root(evidence.host_root, "host-root")
        return LiveBackend(evidence.host_root, "host-root", deadline_s=evidence.deadline_s)
    return LiveBackend(deadline_s=evidence.deadline_s)
