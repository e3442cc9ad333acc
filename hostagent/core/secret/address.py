"""Validates addresses of servers and proxies: an error names the part that is wrong, and quotes nothing of it.

An address may contain a password, and parsers (urllib, `requests`, urllib3) quote what they reject.
"""

import re
from urllib.parse import SplitResult, unquote, urlsplit

_HOST = re.compile(r"[\w.~-]+|[0-9A-Fa-f:.]+(?:%[\w.~%-]+)?")
_LOGIN = re.compile(r"[^/?#\\\[\]\s]*")
_PATH = re.compile(r"[^?#\\\s]*")
_SCHEMES, _PROXY_SCHEMES = ("https",), ("http", "https")
#: Only where `requests` has the library for them.
_SOCKS = ("socks4", "socks4a", "socks5", "socks5h")


def server_address(url: str) -> str:
    """The address of an API server: HTTPS, no user, no query; without its last slash. Raises ``ValueError``.

    >>> server_address("https://10.0.0.1:6443/k8s/clusters/c-1/")
    'https://10.0.0.1:6443/k8s/clusters/c-1'
    """
    parts = _split(url, _SCHEMES, "https://HOST[:PORT]")
    if "@" in parts.netloc:
        raise ValueError("found an address with a user or password, wanted https://HOST[:PORT] and a token or certificate")
    return url.rstrip("/")


def proxy_address(url: str, *, socks: bool = False) -> str:
    """The address of a proxy, which may have a user and a password. Raises ``ValueError``."""
    parts = _split(url, (*_PROXY_SCHEMES, *(_SOCKS if socks else ())), "http://HOST[:PORT], with USER:PASSWORD@ before it where it asks")
    try:
        unquote(parts.netloc.rpartition("@")[0]).encode("latin-1")
    except UnicodeEncodeError:
        raise ValueError("found a user or password that HTTP does not take, wanted characters of latin-1") from None
    return url


def _split(url: str, schemes: tuple[str, ...], wanted: str) -> SplitResult:
    if not url.isprintable() or " " in url:
        raise ValueError(f"found an address with blanks or control characters, wanted {wanted}")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise ValueError(f"found an address with no such port or host, wanted {wanted}") from None
    if parts.scheme not in schemes:
        raise ValueError(f"found an address of another kind, wanted {' or '.join(schemes)}: {wanted}")
    login, _, place = parts.netloc.rpartition("@")
    if port == 0 or place.endswith(":"):
        raise ValueError(f"found an address with no such port, wanted {wanted}")
    if not _HOST.fullmatch(parts.hostname or "") or not _LOGIN.fullmatch(login):
        raise ValueError(f"found an address without a host, or with characters that belong into none, wanted {wanted}")
    if not _PATH.fullmatch(url):
        raise ValueError(f"found an address with a query or more, wanted {wanted}")
    return parts
