"""The profile's word, on its way to the process that reads."""

import marshal
import os
import select

from hostagent.core.deadline import Deadline
from hostagent.host.policy import Policy


class PolicyPipe:
    """The parent gives it as soon as it has read the profile, and is waited for until then."""

    def __init__(self, pipe: int, deadline: Deadline) -> None:
        self._pipe = pipe
        self._deadline = deadline
        self._policy: Policy | None = None

    def __call__(self) -> Policy:
        if self._policy is None:
            poll = select.poll()
            poll.register(self._pipe, select.POLLIN)
            came = poll.poll(max(0, self._deadline.left_s) * 1000)
            word = os.read(self._pipe, select.PIPE_BUF) if came else b""  # written at once, and no longer than that
            self._policy = Policy(*marshal.loads(word)) if word else Policy()  # noqa: S302  by our own parent
        return self._policy
