"""SHA-1 and SHA-256 without OpenSSL, which costs 3 ms and 4 MiB per start."""

from contextlib import suppress
from importlib import import_module
from typing import Literal

#: Python's own modules: 3.12 and newer, 3.10 and 3.11. A distribution may leave them out.
_OWN = {"sha1": ("_sha1",), "sha256": ("_sha2", "_sha256")}


def hexdigest(algorithm: Literal["sha1", "sha256"], data: bytes) -> str:
    """The digest as lower-case hexadecimal digits. For identification, not for security.

    >>> hexdigest("sha1", b"")[:8], hexdigest("sha256", b"")[:8]
    ('da39a3ee', 'e3b0c442')
    """
    for module in _OWN[algorithm]:
        with suppress(ImportError):
            return str(getattr(import_module(module), algorithm)(data).hexdigest())
    import hashlib

    return hashlib.new(algorithm, data, usedforsecurity=False).hexdigest()


def short_digest(text: str) -> str:
    """16 digits of its SHA-256, valid as a part of any Kubernetes name."""
    return hexdigest("sha256", text.encode())[:16]
