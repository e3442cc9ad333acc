"""Files that others read, for hosts where nobody has a right to write to the API server: NFD's features, the node exporter's metrics."""

from hostagent.core.filewrite import deliver
from hostagent.core.smallfile import reason
from hostagent.daemon.message import Saying
from hostagent.kube.nodestatus import stamp

_OPEN_MODE = 0o644


def features(said: Saying, prefix: str) -> str:
    """A local feature file of node feature discovery: a label per line. What is older than the verdict holds is dropped there.

    Source: node-feature-discovery, "Local feature source" (``# +expiry-time``).
    """
    lines = [f"{prefix}/{name}={value}" for name, value in said.words.labels.items() if value is not None]
    expires = said.summary.get("valid_until")
    is_dated = isinstance(expires, int | float) and not said.is_stale  # what is unknown stays so until a pass says otherwise
    head = [f"# +expiry-time={stamp(float(expires or 0))}"] if is_dated else []
    return "\n".join((*head, *lines)) + "\n"


def written(path: str, text: str) -> str:
    """Whole, or not at all: then why."""
    try:
        deliver(text, path, mode=_OPEN_MODE)
    except PermissionError as error:
        return f"{path} is not written: {reason(error)}, wanted a directory that this user may write without any capability"
    except OSError as error:
        return f"{path} is not written: {reason(error)}"
    return ""
