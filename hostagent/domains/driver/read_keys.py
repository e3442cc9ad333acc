"""Keys that this host signs kernel modules with, and whether its kernel will load what they signed."""

# Not looked at: hash entries of MokListRT, and keys compiled into the kernel. The kernel log says whether a key is enrolled.

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, need
from hostagent.host.source import Source

#: Certificates, by who makes them: shim-signed and DKMS on Debian and Ubuntu; DKMS elsewhere; akmods. Sources: update-secureboot-policy(1),
#: dkms(8) (mok_certificate), akmods' README.secureboot. Read 2026-11.
_CERTIFICATES = ("/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub", "/etc/pki/akmods/certs/public_key.der")


@stops_at_unread
def read_signing_keys(source: Source) -> tuple[str, ...]:
    """Paths of the certificates that are there."""
    return tuple(path for path in _CERTIFICATES if need(source.exists(path)))


@stops_at_unread
def read_enrolled_keys(source: Source, keys: "tuple[str, ...] | Unread") -> tuple[str, ...]:
    """Those that the machine owner has enrolled."""
    if not need(keys):
        return ()
    answers = need(source.enrolled(*need(keys)))
    return tuple(path for path in need(keys) if answers.get(path) is True)
