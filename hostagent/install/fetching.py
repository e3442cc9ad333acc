"""A small file by HTTPS or HTTP, as this machine reaches it: proxies come from the environment."""

import http.client
from typing import Any

from hostagent.deadline import Deadline, within
from hostagent.facts.unread import Unread
from hostagent.smallfile import reason
from hostagent.source.base import Answer
from hostagent.source.child import Send
from hostagent.source.programs import Runner
from hostagent.source.runner import serve

#: Seconds for all of it, and for one step. A name that does not resolve takes as long as the resolver is told to.
_WHOLE_S, _STEP_S = 30.0, 10.0
_PIECE = 64 * 1024


def fetched(url: str, limit: int) -> "bytes | Unread":
    """What `url` names, of at most `limit` bytes. In a process of its own: looking up a name is one call that cannot be stopped."""
    try:
        process = Runner(_live)
    except OSError as error:
        return Unread("error", f"the process that fetches cannot be started: {reason(error)}")
    try:
        answer = process.ask((url, limit), _WHOLE_S)
    except (EOFError, TimeoutError):
        return Unread("timeout", f"no answer in {_WHOLE_S:g} s")
    finally:
        process.close()
    return Unread(*answer) if isinstance(answer, tuple) else bytes(answer)


def _live(send: Send, tasks: int) -> None:
    serve(send, tasks, lambda _, task: _fetched(*task))


def _fetched(url: str, limit: int) -> Answer:
    import urllib.error
    import urllib.request

    if not url.startswith(("https://", "http://")):
        return Unread("error", "wanted an address that starts with https:// or http://")
    try:
        with urllib.request.urlopen(url, timeout=_STEP_S) as response:  # noqa: S310  of the two schemes above
            return _read(response, limit, within(_WHOLE_S))
    except urllib.error.HTTPError as error:
        return Unread("error", f"the server answers {error.code}")
    except urllib.error.URLError as error:
        cause = error.reason
        return Unread(
            "timeout" if isinstance(cause, TimeoutError) else "error", reason(cause) if isinstance(cause, OSError) else str(cause)
        )
    except TimeoutError:
        return Unread("timeout", "no answer in time")
    except (OSError, http.client.HTTPException, ValueError) as error:
        return Unread("error", reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}")


def _read(response: Any, limit: int, deadline: Deadline) -> Answer:
    data = bytearray()
    while piece := response.read1(_PIECE):
        data += piece
        if len(data) > limit:
            return Unread("error", f"more than {limit} bytes")
        if deadline.left_s < 0:
            return Unread("timeout", f"no end in {deadline.seconds:g} s")
    return bytes(data)
