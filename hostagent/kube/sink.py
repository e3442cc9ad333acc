"""Writes the node's status when it changes and at each heartbeat, within a rate limit."""

# A node with another uid, or a reply with another `ready` than was written, gets everything once more, no sooner than after a
# failure: an admission webhook would change our words each time.

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from hostagent.engine.report.node_status import NodeWords
from hostagent.kube.nodestatus import body
from hostagent.kube.pacing import ALL, TEXTS, Bucket, next_heartbeat, pause

Draw = Callable[[], float]


class Reply(NamedTuple):
    """The result of one write: ``uid`` and ``labels`` of the node where it succeeded, else ``problem``, a sentence, what the server asks
    to wait for, in seconds, whether there is no such node, and whether the same again would be refused again; and how long the answer took.
    """

    uid: str
    labels: dict[str, str]
    problem: str = ""
    retry_after_s: float = 0.0
    is_absent: bool = False
    took_s: float = 0.0
    is_refused: bool = False


class Pace(NamedTuple):
    """``draw``: of 0 to 1, by chance."""

    prefix: str
    heartbeat_s: float
    draw: Draw


class Client(Protocol):
    """A connection to an API server."""

    def patch_node_status(self, name: str, body: dict[str, Any]) -> Reply:
        """Write, and return what the server has of the node. Never raises."""


class Sink:
    """One node. Its clocks are given: `now` is of the monotonic clock, `wall` seconds since the epoch."""

    def __init__(self, client: Client, node: str, pace: Pace, now: float) -> None:
        self._client, self._node = client, node
        self._prefix, self._heartbeat_s, self._draw = pace
        self._bucket, self._texts = Bucket(now, ALL), Bucket(now, TEXTS)
        self._wanted: NodeWords | None = None
        self._written: NodeWords | None = None
        self._judged_at = 0.0
        self._is_last = False
        self._is_other = False  # the node that answered last is another one, or says something else than was written
        self._failures, self._failed_at, self._chance, self._asked_s = 0, now, 0.0, 0.0
        self._heartbeat_at = now  # monotonic: a clock that is set back holds none up
        self.problem = ""  # of the last try
        self.written_at = 0.0  # seconds since the epoch; 0 never
        self.uid = ""

    def offer(self, words: NodeWords, judged_at: float, *, is_last: bool = False) -> None:
        """Take the newest words, of a pass judged at `judged_at`: seconds since the epoch, 0 for none. `is_last`: once they are
        written nothing more is, until others are offered.
        """
        self._wanted, self._judged_at, self._is_last = words, judged_at, is_last

    def due(self, now: float) -> float:
        """Seconds until `write` has something to do; infinite where nothing was offered yet."""
        if self._wanted is None or (self._is_last and not self._differs):
            return float("inf")
        wanted_at = now if self._differs else self._heartbeat_at
        if self._is_text:
            wanted_at = min(self._texts.ready_at(now), self._heartbeat_at)
        return max(wanted_at - now, self._not_before - now, self._bucket.ready_at(now) - now, 0.0)

    def write(self, now: float, wall: float) -> Reply:
        """One try, with what is newest."""
        assert self._wanted is not None
        words = self._wanted
        self._bucket.take(now)
        if self._is_text:
            self._texts.take(now)
        reply = self._client.patch_node_status(self._node, body(words, self._prefix, self._judged_at))
        if reply.problem:
            self._fail(now + reply.took_s, reply.retry_after_s)
            if reply.is_absent:  # a new node of that name has no words of ours: it gets them soon
                self._written = None
        else:
            self._take(reply, words, (now, wall))
        self.problem = reply.problem
        return reply

    def _take(self, reply: Reply, words: NodeWords, at: tuple[float, float]) -> None:
        """After a full write. It is repeated for another node of this name, or one with another label."""
        now, wall = at
        self._written = words
        ready = words.labels.get("ready")
        self._is_other = self.uid not in ("", reply.uid) or bool(ready and reply.labels.get(f"{self._prefix}/ready") != ready)
        if self._is_other:  # an admission webhook may change our words again: no more often than after failures
            self._fail(now, 0.0)
        else:
            self._failures = 0
        self.uid, self.written_at = reply.uid, wall
        self._heartbeat_at = now + next_heartbeat(self._node, wall, self._heartbeat_s, self._draw()) - wall

    def _fail(self, now: float, asked_s: float) -> None:
        self._failures += 1
        self._failed_at, self._chance, self._asked_s = now, self._draw(), asked_s

    @property
    def _not_before(self) -> float:
        """A transition that comes later does not wait out the pause of what was less urgent."""
        if not self._failures:
            return self._failed_at
        return self._failed_at + pause(self._failures, self._chance, is_waiting=self._turns, asked_s=self._asked_s)

    @property
    def _differs(self) -> bool:
        return self._is_other or self._written is None or self._wanted != self._written

    @property
    def _is_text(self) -> bool:
        """Whether words wait to be published, and no status."""
        return self._differs and not self._is_other and not self._turns

    @property
    def _turns(self) -> bool:
        """Whether a status waits to be published, not words alone."""
        return self._wanted is not None and (self._written is None or _statuses(self._wanted) != _statuses(self._written))


def _statuses(words: NodeWords) -> Any:
    return [(one.type, one.status) for one in words.conditions], words.removed
