"""Files for other agents, for hosts without write access to the API server: NFD's features, the node exporter's metrics."""

from hostagent.core.filewrite import deliver
from hostagent.core.smallfile import reason
from hostagent.daemon.message import Message
from hostagent.kube.nodestatus import stamp

_OPEN_MODE = 0o644


def features(message: Message, prefix: str) -> str:
    """A local feature file of node feature discovery: a label per line. NFD drops it once the verdict has expired.

    Source: node-feature-discovery, "Local feature source" (``# +expiry-time``).
    """
    lines = [f"{prefix}/{name}={value}" for name, value in message.words.labels.items() if value is not None]
    expires = message.summary.get("valid_until")
    is_dated = isinstance(expires, int | float) and not message.is_stale  # unknown does not expire
    head = [f"# +expiry-time={stamp(float(expires or 0))}"] if is_dated else []
    return "\n".join((*head, *lines)) + "\n"


def write_file(path: str, text: str) -> str:
    """Write the file atomically. The reason where that failed, else ""."""
    try:
        deliver(text, path, mode=_OPEN_MODE)
    except PermissionError as error:
        return f"{path} is not written: {reason(error)}, wanted a directory that this user may write without any capability"
    except OSError as error:
        return f"{path} is not written: {reason(error)}"
    return ""
