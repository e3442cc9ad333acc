"""Sends the `Policy` of the profile to the collector process."""

import marshal
import os
import select

from hostagent.core.deadline import Deadline
from hostagent.host.policy import Policy


class PolicyPipe:
    """Reads the policy from the parent, which sends it once it has loaded the profile; waits for it until the deadline."""

    def __init__(self, pipe: int, deadline: Deadline) -> None:
        self._pipe = pipe
        self._deadline = deadline
        self._policy: Policy | None = None

    def __call__(self) -> Policy:
        if self._policy is None:
            poll = select.poll()
            poll.register(self._pipe, select.POLLIN)
            came = poll.poll(max(0, self._deadline.left_s) * 1000)
            data = os.read(self._pipe, select.PIPE_BUF) if came else b""  # written by one write(2) of at most PIPE_BUF
            self._policy = Policy(*marshal.loads(data)) if data else Policy()  # noqa: S302  from our parent
        return self._policy
