"""Who may write a file: one that only root may change speaks for the host."""

from hostagent.facts.unread import need
from hostagent.source import Source
from hostagent.source.answers import Stat

_GROUP_WRITES, _OTHERS_WRITE = 0o020, 0o002


class Writers:
    """Asks of a file and of the directories above it. Who owns the root of the tree counts as root: an image may be anybody's copy."""

    def __init__(self, source: Source) -> None:
        self._source = source
        top = need(source.stat("/"))
        self._owners, self._groups = {0, top.uid}, {0, top.gid}

    def is_roots(self, path: str) -> bool:
        """Of a path without links. Raises ``UnreadError``."""
        parts = path.split("/")
        return all(self._is_roots(need(self._source.stat("/".join(parts[:end])))) for end in range(len(parts), 1, -1))

    def _is_roots(self, found: Stat) -> bool:
        by_group = bool(found.mode & _GROUP_WRITES) and found.gid not in self._groups
        return found.uid in self._owners and not by_group and not found.mode & _OTHERS_WRITE
