"""Schedules retries of each node: after an error, and after the first pass of its agent."""

from typing import NamedTuple

from hostagent.controller.node import Node
from hostagent.kube.api import ApiError

#: Seconds before a node is tried again after an error: at least, at most, and at most where the server is away, which comes back for all.
_FIRST_S, _LONGEST_S, _LONGEST_AWAY_S = 1.0, 60.0, 5.0


class _Retry(NamedTuple):
    """``version``: only this resourceVersion of the node waits, "" any."""

    at: float
    version: str
    failures: int


class Retries:
    """Times are monotonic seconds."""

    def __init__(self) -> None:
        self._retries: dict[str, _Retry] = {}
        self._server_at = float("-inf")  # before that no request is sent: the server was not reached

    def is_due(self, node: Node, now: float, *, is_held: bool = True) -> bool:
        """Whether the node may be read and written. `is_held`: an agent that has just begun is waited for, too."""
        if now < self._server_at:
            return False
        retry = self._retries.get(node.name)
        return retry is None or now >= retry.at or (bool(retry.version) and (not is_held or retry.version != node.resource_version))

    def fail(self, name: str, error: ApiError, now: float) -> bool:
        """Whether it is the first failure since the last success."""
        before = self._retries.get(name)
        failures = (before.failures if before else 0) + 1
        longest_s = _LONGEST_S if 400 <= error.code < 500 else _LONGEST_AWAY_S
        pause_s = max(min(_FIRST_S * 2.0 ** min(failures - 1, 10), longest_s), min(error.retry_after_s, _LONGEST_S))
        if not error.code:
            self._server_at = now + _FIRST_S
        self._retries[name] = _Retry(now + pause_s, "", failures)
        return failures == 1

    def succeed(self, name: str) -> None:
        """Ends the failures of a node."""
        retry = self._retries.get(name)
        if retry and retry.failures:
            del self._retries[name]

    def hold(self, node: Node, until: float) -> None:
        """Waits for the end of a first pass, or for a newer version of the node."""
        self._retries[node.name] = _Retry(until, node.resource_version, 0)

    def rest(self, name: str, until: float) -> None:
        """After a write that succeeded."""
        self._retries[name] = _Retry(until, "", 0)

    def end_holds(self) -> None:
        """The owner of a taint that was held back may have changed."""
        self._retries = {name: one for name, one in self._retries.items() if one.failures}

    def forget(self, name: str) -> None:
        """The node is gone."""
        self._retries.pop(name, None)
