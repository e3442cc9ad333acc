"""The listening socket of HTTP: made once, before the publisher, so that every publisher inherits the same one."""

import ipaddress
import socket
from typing import TYPE_CHECKING, NamedTuple

from hostagent.core.errors import HostagentError
from hostagent.core.smallfile import reason

if TYPE_CHECKING:
    from hostagent.http.server import Certificates

_NEXT = "Give another one with --listen, or --listen '' for none"
_BACKLOG = 1024


class Listening(NamedTuple):
    """The socket, and its certificates; None where it is no HTTPS."""

    line: socket.socket
    certificates: "Certificates | None"


def listening(address: str, cert: str, key: str) -> Listening:
    """Raises ``HostagentError``: a certificate that cannot be used is reported at the start, not to clients."""
    line = opened(address)
    if not cert:
        return Listening(line, None)
    import ssl

    from hostagent.http.server import Certificates

    try:
        return Listening(line, Certificates(cert, key))
    except OSError as error:
        line.close()
        why = "found no certificate and its key in them" if isinstance(error, ssl.SSLError) else reason(error)
        raise HostagentError(f"{cert} and {key} cannot be used: {why}", "Give others with --tls-cert and --tls-key") from error


def opened(address: str) -> socket.socket:
    """Of ``ADDRESS:PORT``, see `parse_address`. Raises ``HostagentError``."""
    place, port = parse_address(address)
    line = socket.socket(socket.AF_INET6 if place.version == 6 else socket.AF_INET)
    try:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        line.bind((str(place), port))
        line.listen(_BACKLOG)
    except OSError as error:
        line.close()
        raise HostagentError(f"{address} cannot be listened on: {reason(error)}", _NEXT) from error
    return line


def parse_address(address: str) -> "tuple[ipaddress.IPv4Address | ipaddress.IPv6Address, int]":
    """An IPv6 address may go without brackets, as Kubernetes writes a pod's: ``$(POD_IP):9476``. Raises ``HostagentError``.

    >>> [str(parse_address(text)[0]) for text in ("10.0.0.7:9476", "[fd00::7]:9476", "fd00::7:9476")]
    ['10.0.0.7', 'fd00::7', 'fd00::7']
    """
    host, _, port = address.rpartition(":")
    place = _address(host.removeprefix("[").removesuffix("]"))
    if place is None or not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
        raise HostagentError(f"found --listen {address!r:.80}, wanted ADDRESS:PORT, such as 127.0.0.1:9476 or [::]:9476", _NEXT)
    return place, int(port)


def _address(host: str) -> "ipaddress.IPv4Address | ipaddress.IPv6Address | None":
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def is_loopback(line: socket.socket) -> bool:
    """Whether this machine alone reaches it."""
    return ipaddress.ip_address(line.getsockname()[0]).is_loopback
