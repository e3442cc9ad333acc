"""Downloads a small file by HTTPS or HTTP, with the proxies of the environment."""

from collections.abc import Iterable
from typing import Any

from hostagent.core.answers import Answer
from hostagent.core.deadline import Deadline, within
from hostagent.core.secret.in_use import InUse
from hostagent.core.smallfile import reason
from hostagent.core.unread import Unread
from hostagent.host.programs import Runner
from hostagent.host.runner import serve
from hostagent.sandbox.child import Send
from hostagent.sandbox.least_privileges import fetcher

#: Seconds for all of it, and for one step. A name that does not resolve takes the resolver's own timeout.
_WHOLE_S, _STEP_S = 30.0, 10.0
_PIECE = 64 * 1024


def fetch(url: str, limit: int) -> "bytes | Unread":
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
    fetcher()
    serve(send, tasks, lambda _, task: _fetch(*task))


def _fetch(url: str, limit: int) -> Answer:
    import requests

    if not url.startswith(("https://", "http://")):
        return Unread("error", "wanted an address that starts with https:// or http://")
    try:
        with requests.get(url, timeout=_STEP_S, stream=True, auth=_without_credentials) as response:
            if not response.ok:
                return Unread("error", f"the server answers {response.status_code}")
            return _read(response.iter_content(_PIECE), limit, within(_WHOLE_S))
    except requests.Timeout:
        return Unread("timeout", "no answer in time")
    except (requests.RequestException, OSError, ValueError) as error:
        return Unread("error", _secrets(url).without(_innermost(error)))


def _secrets(url: str) -> InUse:
    """Users and passwords of the address and of the environment's proxies: parse errors quote them."""
    from urllib.request import getproxies

    found = InUse()
    for one in (url, *getproxies().values()):
        found.add_address(one)
    return found


def _without_credentials(request: Any) -> Any:
    """Send no name and password of a .netrc: a keyring's server needs none."""
    return request


def _read(pieces: Iterable[bytes], limit: int, deadline: Deadline) -> Answer:
    data = bytearray()
    for piece in pieces:
        data += piece
        if len(data) > limit:
            return Unread("error", f"more than {limit} bytes")
        if deadline.left_s < 0:
            return Unread("timeout", f"no end in {deadline.seconds:g} s")
    return bytes(data)


def _innermost(error: BaseException) -> str:
    """The innermost error, that of the system: errors around it name objects of the library."""
    while (cause := next((one for one in (error.__cause__, error.__context__) if one is not None), None)) is not None:
        error = cause
    return reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
