"""Removes secrets that this process uses from messages; and validates a token before use."""

import base64
import json
import re
from collections.abc import Iterable
from urllib.parse import quote, unquote

from hostagent.core.secret.forms import REMOVED, without_tokens
from hostagent.core.secret.names import without_credentials

#: Minimum length to look for literally: a shorter one occurs in many words.
_SHORTEST = 4
#: Forms of secrets that are kept, the newest: hourly tokens have long expired by then.
_MOST = 256
_MAX_TOKEN = 64 * 1024
_VISIBLE = re.compile(r"[!-~]+")


class InUse:
    """Secrets that no message may contain, also those used before. Thread-safe."""

    def __init__(self) -> None:
        self._known: tuple[str, ...] = ()  # the newest first

    def add(self, *secrets: str) -> None:
        """Add tokens and passwords; "" for none. Each is removed literally, percent-encoded, escaped, and in base64."""
        forms = dict.fromkeys(form for one in secrets if one for form in _forms(one))
        if not forms.keys() <= set(self._known):
            self._known = tuple(dict.fromkeys((*forms, *self._known)))[:_MOST]

    def add_address(self, url: str) -> None:
        """Add user and password of an address, which may be invalid; also as sent with each request (RFC 7617)."""
        login = url.partition("://")[2].rpartition("@")[0] or url.rpartition("@")[0]
        if login:
            self.add(login, login.partition(":")[2], base64.b64encode(unquote(login).encode("utf-8", "surrogateescape")).decode())

    def without(self, text: str) -> str:
        """`text` without them, without user and password of any address, and without secrets of a known form. Call it before the text is
        cut: half a secret is not found.

        >>> used = InUse()
        >>> used.add("hunter/2")
        >>> used.without("the server says: no such token hunter%2F2 at https://bob:pw@api:6443/x")
        'the server says: no such token <removed> at https://<removed>@api:6443/x'
        """
        for one in sorted(self._known, key=len, reverse=True):
            text = text.replace(one, REMOVED)
        return without_tokens(without_credentials(text))


def _forms(secret: str) -> Iterable[str]:
    plain = unquote(secret, errors="surrogateescape")
    for one in {secret, plain}:
        data = one.encode("utf-8", "surrogateescape")
        encoded = quote(data, safe="")
        yield from (one for one in (one, json.dumps(one)[1:-1], repr(one)[1:-1], encoded, encoded.lower()) if len(one) >= _SHORTEST)
        yield base64.b64encode(data).decode()


def token_in(text: "str | bytes") -> str:
    """The token of a file or field, without blanks around it. Raises ``ValueError``, which quotes nothing of it.

    Visible ASCII, as in any HTTP header (RFC 9110, 5.5); RFC 6750 allows fewer characters, which no issuer adheres to.

    >>> token_in(b"eyJhbGciOi.x-y_z")
    'eyJhbGciOi.x-y_z'
    """
    if len(text) > _MAX_TOKEN:
        raise ValueError(f"found more than {_MAX_TOKEN} characters, wanted a token")
    words = (text.decode("latin-1") if isinstance(text, bytes) else text).strip(" \t\r\n")
    if not words:
        raise ValueError("found nothing, wanted a token")
    if _VISIBLE.fullmatch(words):
        return words
    lines = len(words.splitlines())
    if lines > 1:
        raise ValueError(f"found {lines} lines, wanted one token")
    raise ValueError("found blanks or characters that are no visible ASCII, wanted one token")
