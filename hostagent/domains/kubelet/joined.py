"""Whether a kubelet has joined a cluster, by its own files."""

from hostagent.core.unread import NOT_APPLICABLE, Unread, need
from hostagent.facts.kubelet import Kubelet

#: Of the error about a file that the command line names and that is not there.
_MISSING = "no such file or directory"


def lacks_its_file(kubelet: Kubelet) -> bool:
    """It refuses to start because a file of its configuration is missing. Raises ``UnreadError``."""
    return need(kubelet.state) == "rejected" and not need(kubelet.refused_state_files) and _MISSING in need(kubelet.error)


def is_unjoined(kubelet: Kubelet) -> bool:
    """A package brought it, and it is in no cluster: it lacks its file and has no credentials. What cannot be read counts as joined."""
    if kubelet.joined is True or isinstance(kubelet.refused_state_files, Unread):
        return False
    if isinstance(kubelet.state, Unread) or isinstance(kubelet.error, Unread):
        return kubelet.joined is False
    return lacks_its_file(kubelet) and not has_credentials(kubelet)


def has_credentials(kubelet: Kubelet) -> bool:
    """Whether it has those of a cluster; a recording that does not know has none. Raises ``UnreadError``."""
    joined = kubelet.joined
    if isinstance(joined, Unread) and joined.why in ("not-recorded", *NOT_APPLICABLE):
        return False
    return need(joined)
