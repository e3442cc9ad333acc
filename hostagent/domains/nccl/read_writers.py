"""Whether only root may write a file: only such a file counts as the host's."""

# The owner of `/` of the tree counts as root, because an unpacked image may be any user's copy. A writable directory could
# make the search endless (loops, thousands of names).

from hostagent.core.answers import Stat
from hostagent.core.unread import NOT_THERE, Unread, need
from hostagent.host.source import Source

_GROUP_WRITES, _OTHERS_WRITE = 0o020, 0o002


class Writers:
    """Checks a file and the directories above it. The owner of the tree's root counts as root: an image may be any user's copy."""

    def __init__(self, source: Source) -> None:
        self._source = source
        top = need(source.stat("/"))
        self._owners, self._groups = {0, top.uid}, {0, top.gid}
        self._known = {"": True}

    def is_roots(self, path: str) -> bool:
        """Whether only root may write `path` and each directory in it; not of one that is not there. Raises ``UnreadError``."""
        if path not in self._known:
            self._known[path] = self.is_roots(path.rpartition("/")[0]) and self._is_roots(path)
        return self._known[path]

    def _is_roots(self, path: str) -> bool:
        found = self._source.stat(path)
        if isinstance(found, Unread) and found.why in NOT_THERE:
            return False
        return self._may_speak(need(found))

    def _may_speak(self, found: Stat) -> bool:
        by_group = bool(found.mode & _GROUP_WRITES) and found.gid not in self._groups
        return found.uid in self._owners and not by_group and not found.mode & _OTHERS_WRITE
