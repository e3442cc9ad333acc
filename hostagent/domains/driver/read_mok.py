"""Whether the machine owner has enrolled a certificate: shim passes its list to the kernel, which then loads modules signed by it.

Sources: shim, MokVars.txt and mok.c (MokListRT; a copy in /sys/firmware/efi/mok-variables since Linux 5.10); UEFI specification, section
32.4.1 (EFI_SIGNATURE_LIST; its X.509 entries are whole certificates). Read 2026-11.
"""

from collections.abc import Sequence

from hostagent.core.answers import MIB, Answer
from hostagent.core.unread import Unread
from hostagent.host.files import Files

#: The first that exists is read. efivarfs writes four bytes of attributes before a variable.
_LISTS = ("/sys/firmware/efi/mok-variables/MokListRT", "/sys/firmware/efi/efivars/MokListRT-605dab50-e046-4300-abb6-3dd810dd8b23")
#: EFI_CERT_X509_GUID in memory order; an owner's GUID precedes each certificate.
_X509 = bytes.fromhex("a159c0a5e494a74a87b5ab155c2bf072")
_OWNER = 16
_LARGEST = 64 * 1024


def enrolled(files: Files, paths: Sequence[str]) -> Answer:
    """By path, whether the list has that certificate (DER or PEM); absent if the firmware has no such list."""
    listed = _certificates(files)
    if isinstance(listed, Unread):
        return listed
    answer = {}
    for path in paths:
        data = files.read(path, str(_LARGEST))
        if isinstance(data, Unread):
            return data
        answer[path] = certificate(data) in listed
    return answer


def _certificates(files: Files) -> "frozenset[bytes] | Unread":
    gone = Unread("absent", "the firmware has no list of the machine owner's keys")
    for path in _LISTS:
        data = files.read(path, str(MIB))
        if isinstance(data, bytes):
            try:
                return frozenset(parse_signature_lists(data[4:] if "efivars" in path else data))
            except ValueError as error:
                return Unread("error", f"{path}: {error}")
        if data.why != "absent":
            return Unread(data.why, data.detail)
    return gone


def parse_signature_lists(data: bytes) -> "tuple[bytes, ...]":
    """The certificates of a sequence of EFI_SIGNATURE_LIST; raises ``ValueError``.

    >>> body = b"o" * 16 + b"certificate"
    >>> sizes = b"".join(one.to_bytes(4, "little") for one in (28 + len(body), 0, len(body)))
    >>> parse_signature_lists(_X509 + sizes + body)
    (b'certificate',)
    """
    found: list[bytes] = []
    at = 0
    while at < len(data):
        size, header, each = (int.from_bytes(data[at + offset : at + offset + 4], "little") for offset in (16, 20, 24))
        if size < 28 + header or at + size > len(data) or each <= _OWNER:
            raise ValueError(f"a signature list of {size} bytes at byte {at} of {len(data)}")
        if data[at : at + 16] == _X509:
            found += (data[start + _OWNER : start + each] for start in range(at + 28 + header, at + size - each + 1, each))
        at += size
    return tuple(found)


def certificate(data: bytes) -> bytes:
    """A certificate (DER or PEM) in DER. Anything else is returned unchanged, and is in no list."""
    import base64
    import binascii

    begin, _, rest = data.partition(b"-----BEGIN CERTIFICATE-----")
    body, end, _ = rest.partition(b"-----END CERTIFICATE-----")
    try:
        return base64.b64decode(body) if end and not begin.strip() else data
    except binascii.Error:
        return data
