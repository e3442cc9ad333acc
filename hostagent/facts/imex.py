"""IMEX as the host's own files show it, and the DRA driver's plug-in that starts IMEX in pods."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class ImexLog:
    """What the IMEX of the host has logged since its last start."""

    errors: tuple[str, ...]  # ERROR, FATAL and CRITICAL lines and refused connections after the last connection or good state
    state: str  # the last state of its domain in capitals: UP, DEGRADED; "" where it logs none
    lost: tuple[str, ...]  # numbers of the nodes to which the last connection ended
    connected: int  # nodes to which it is connected, itself included
    knows_itself: bool  # it found its own address in the list of nodes


@frozen
class Imex:
    """The IMEX of the host by its configuration and log, and the compute-domain plug-in of NVIDIA's DRA driver."""

    nodes_file: str | Unread  # IMEX_NODE_CONFIG_FILE, or the default path
    nodes: tuple[str, ...] | Unread  # the entries of that file, in its order
    command_socket: str | Unread  # IMEX_CMD_UNIX_DOMAIN_PATH where IMEX_CMD_ENABLED is 1, else ""
    log: ImexLog | Unread
    plugin: bool | Unread  # the plug-in made its socket below a kubelet's directory since the boot
    domains: tuple[str, ...] | Unread  # ComputeDomains for which the plug-in wrote the configuration of an IMEX of its own
