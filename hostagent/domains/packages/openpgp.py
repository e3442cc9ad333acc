"""Keys in a keyring file. Only key ids are needed, so there is no OpenPGP library."""

import base64
import binascii
import re
from collections.abc import Iterator

from hostagent.core.hashes import hexdigest

_PUBLIC_KEY_TAGS = (6, 14)  # public key, public subkey
_BEGIN = re.compile(rb"\s*-----BEGIN PGP [A-Z ]+-----")
_ARMOUR = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/= \t\r\v\f"


def parse_key_ids(data: bytes) -> tuple[str, ...]:
    """Ids (16 hex digits) of the keys and subkeys in a keyring, binary or armoured (RFC 4880); raises ``ValueError``.

    >>> parse_key_ids(bytes.fromhex("980d04000000000100080100080111"))
    ('6645e7a6d485ee54',)
    """
    return tuple(_key_id(body) for _, body in public_keys(data))


def public_keys(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(tag, body) of the keys and subkeys of a keyring; raises ``ValueError``."""
    return ((tag, body) for tag, body in _packets(dearmour(data)) if tag in _PUBLIC_KEY_TAGS)


def dearmour(data: bytes) -> bytes:
    """A keyring without its ASCII armour; a binary one as it is. Raises ``ValueError``."""
    return _decode_armour(data) if data.lstrip().startswith(b"-----BEGIN PGP") else data


def _decode_armour(data: bytes) -> bytes:
    """The bytes of every armoured block (RFC 4880, section 6.2), line by line; lines between two marks that are not armour are ignored."""
    blocks: list[bytes] = []
    block: list[bytes] | None = None
    headers = False
    for line in data.split(b"\n"):
        if _BEGIN.match(line):
            block, headers = [], True
        elif block is not None and not (headers and b":" in line and b"-----END" not in line):
            headers = False
            text, end, _ = line.partition(b"-----END")
            if text.translate(None, _ARMOUR):
                block = None
                continue
            if not text.startswith(b"="):  # the checksum
                block.append(text)
            if end:
                blocks.append(b"".join(block))
                block = None
    try:
        return b"".join(map(base64.b64decode, blocks))
    except binascii.Error as error:
        raise ValueError(f"armour that is not base64: {error}") from error


def _packets(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(tag, body) of each packet, with old and new headers (RFC 4880, section 4.2)."""
    at = 0
    while at < len(data):
        first = data[at]
        if not first & 0x80:
            raise ValueError(f"no OpenPGP packet at byte {at}")
        if first & 0x40:
            tag, size, width = first & 0x3F, *_new_length(data, at + 1)
        else:
            tag, width = (first >> 2) & 0x0F, (1, 2, 4, 0)[first & 3]
            size = int.from_bytes(data[at + 1 : at + 1 + width], "big") if width else len(data) - at - 1
        start = at + 1 + width
        if start + size > len(data):
            raise ValueError(f"the packet at byte {at} is cut short")
        yield tag, data[start : start + size]
        at = start + size


def _new_length(data: bytes, at: int) -> tuple[int, int]:
    first = data[at : at + 1] or b"\xff"
    if first[0] < 192:
        return first[0], 1
    if first[0] < 224:
        return ((first[0] - 192) << 8) + (data[at + 1 : at + 2] or b"\0")[0] + 192, 2
    if first[0] < 255:
        raise ValueError(f"a key in parts at byte {at}")
    return int.from_bytes(data[at + 1 : at + 5], "big"), 5


def _key_id(body: bytes) -> str:
    """The last eight bytes of a version 4 fingerprint, the first eight of a later one."""
    version = body[0] if body else 0
    if version == 4:
        framed = b"\x99" + len(body).to_bytes(2, "big") + body if len(body) < 65536 else b""
        return hexdigest("sha1", framed)[-16:]
    if version in (5, 6):
        framed = (b"\x9a" if version == 5 else b"\x9b") + len(body).to_bytes(4, "big") + body
        return hexdigest("sha256", framed)[:16]
    raise ValueError(f"a key of version {version}")
