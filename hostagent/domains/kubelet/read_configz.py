"""A running kubelet's own configuration by HTTPS, where the profile names address, CA and token file.

The token is read when needed and is in no answer, nor in an error. Only the fields that facts hold are kept.
"""

import json
import time
from typing import Any
from urllib.parse import urlsplit

from hostagent.core.answers import KIB, MIB, Answer
from hostagent.core.secret.address import server_address
from hostagent.core.secret.in_use import InUse, token_in
from hostagent.core.unread import Unread
from hostagent.domains.kubelet.tables.defaults import HELD
from hostagent.host.files import Files

#: Seconds for all of it, and for one step.
_WHOLE_S, _STEP_S = 1.5, 0.5
_TOKEN_BYTES, _CA_BYTES, _PIECE = 16 * KIB, 256 * KIB, 64 * KIB
_SHOWN = 200
#: The kubelet's default port.
_PORT = 10250
_HELD = frozenset(name for _, name, _ in HELD)


def ask(files: Files, address: str, ca: str, token_file: str) -> Answer:
    """KubeletConfiguration's fields, as ``{"topologyManagerPolicy": "none", …}``."""
    token, authority = files.read(token_file, str(_TOKEN_BYTES)), files.read(ca, str(_CA_BYTES))
    unread = next((one for one in (token, authority) if isinstance(one, Unread)), None)
    if unread is not None:
        return Unread("error", unread.detail) if unread.why == "absent" else unread
    try:
        word = token_in(token)
    except ValueError as error:
        return Unread("error", f"{token_file}: {error}")
    secrets = InUse()
    secrets.add(word)
    try:
        place = urlsplit(server_address(f"https://{address}"))
        answer = _asked(place.hostname or "", place.port or _PORT, authority.decode("ascii"), word)
    except ValueError as error:
        text = f"{type(error).__name__}" if isinstance(error, UnicodeError) else f"{error}"
        answer = Unread("error", f"configz: {text}")
    return Unread(answer.why, secrets.without(answer.detail)[:_SHOWN]) if isinstance(answer, Unread) else answer


def _asked(host: str, port: int, authority: str, token: str) -> Answer:
    """Raises ``ValueError``."""
    import http.client
    import ssl

    started = time.monotonic()
    try:
        context = ssl.create_default_context(cadata=authority)
        connection = http.client.HTTPSConnection(host, port, timeout=_STEP_S, context=context)
        try:
            connection.request("GET", "/configz", headers={"Authorization": f"Bearer {token}", "Connection": "close"})
            response = connection.getresponse()
            data = bytearray()
            while response.status == http.client.OK and (piece := response.read1(_PIECE)):
                data += piece
                if len(data) > MIB or time.monotonic() - started > _WHOLE_S:
                    raise ValueError("the answer does not end")
        finally:
            connection.close()
    except TimeoutError:
        return Unread("timeout", f"configz: {host}:{port} does not answer in time")
    except (OSError, http.client.HTTPException) as error:
        return Unread("error", f"configz: {host}:{port}: {type(error).__name__}: {error}")
    if response.status != http.client.OK:
        return Unread("denied" if response.status in {401, 403} else "error", f"configz: the kubelet answers {response.status}")
    return parse_configz(bytes(data))


def parse_configz(data: bytes) -> dict[str, Any]:
    """The fields that facts hold; raises ``ValueError``.

    >>> parse_configz(b'{"kubeletconfig": {"maxPods": 110, "staticPodURL": "x"}}')
    {'maxPods': 110}
    """
    try:
        document = json.loads(data)
    except RecursionError as error:
        raise ValueError("found too many levels") from error
    found = document.get("kubeletconfig") if isinstance(document, dict) else None
    if not isinstance(found, dict):
        raise ValueError("the answer holds no kubeletconfig")  # noqa: TRY004  of a text, not of an argument
    return {name: value for name, value in found.items() if name in _HELD}
