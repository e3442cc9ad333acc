"""Keys with which this host signs kernel modules, and whether the machine owner has enrolled them."""

# Not read: hash entries of MokListRT, and keys compiled into the kernel. The kernel log shows whether a key is enrolled.

from hostagent.core.parsing import stops_at_unread
from hostagent.core.unread import Unread, need
from hostagent.host.source import Source

#: Certificates by generator: shim-signed and DKMS on Debian and Ubuntu; DKMS elsewhere; akmods. Sources: update-secureboot-policy(1),
#: dkms(8) (mok_certificate), akmods' README.secureboot. Read 2026-11.
_CERTIFICATES = ("/var/lib/shim-signed/mok/MOK.der", "/var/lib/dkms/mok.pub", "/etc/pki/akmods/certs/public_key.der")


@stops_at_unread
def read_signing_keys(source: Source) -> tuple[str, ...]:
    """Paths of the existing certificates."""
    return tuple(path for path in _CERTIFICATES if need(source.exists(path)))


@stops_at_unread
def read_enrolled_keys(source: Source, keys: "tuple[str, ...] | Unread") -> tuple[str, ...]:
    """The certificates that the machine owner has enrolled."""
    if not need(keys):
        return ()
    answers = need(source.enrolled(*need(keys)))
    return tuple(path for path in need(keys) if answers.get(path) is True)
