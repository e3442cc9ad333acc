"""Identifies the peer of a connection: the user of a process of this machine, or the address of another machine.

The user by sock_diag(7), which knows the user of each socket; asked of one socket by its two ends it looks through none of the others.
"""

import errno
import functools
import ipaddress
import os
import socket
import struct
import time

_SOCK_DIAG, _BY_FAMILY, _REQUEST = 4, 20, 1
#: struct nlmsghdr; struct inet_diag_req_v2: family, protocol, extensions, states; then ports, addresses, interface and cookie of a socket.
_HEAD, _ASKED, _PORTS = struct.Struct("=IHHII"), struct.Struct("=BBBxI"), struct.Struct("!HH")
_ANY_COOKIE = b"\xff" * 8
_ALL_STATES = 0xFFFFFFFF
#: Of struct inet_diag_msg: the offset of the user's number, after the header.
_USER, _ERROR = struct.Struct("=I"), struct.Struct("=i")
_USER_AT = _HEAD.size + 64
#: Of an IPv6 address, what one machine has for itself at least.
_NETWORK_BYTES = 8

#: Behind the header: family, then the state of the socket, of which an established one alone has its user.
_STATE_AT, _ESTABLISHED = _HEAD.size + 1, 1
#: Seconds before a kernel that did not answer is asked again: each question may make it look for a module.
_AGAIN_S = 60.0
#: Pairs of addresses that are remembered: to parse one costs as much as all else.
_PAIRS = 256


class Askers:
    """One netlink socket, opened when it is needed."""

    def __init__(self) -> None:
        self._line: socket.socket | None = None
        self._again_at = 0.0  # monotonic seconds
        self._has_answered = False  # so that it has what it takes

    def of(self, line: socket.socket, address: "tuple[object, ...]") -> object:
        """`address`: as accept(2) says it. "" for a process of this machine where the kernel does not know its user."""
        here = line.getsockname()
        asker, family, addresses = _between(str(address[0]), here[0])
        if not addresses:
            return asker
        if time.monotonic() < self._again_at:
            return ""
        try:
            user = self._user(family, _PORTS.pack(int(str(address[1])), here[1]) + addresses)
        except (OSError, struct.error):
            self._again_at = time.monotonic() + _AGAIN_S
            return ""
        return "" if user is None else f"user {user}"

    def _user(self, family: int, ends: bytes) -> "int | None":
        """None for a socket that is gone. Raises ``OSError``, and ``struct.error`` for an answer that is none."""
        if self._line is None:
            self._line = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG)
            self._line.settimeout(0.1)
        body = _ASKED.pack(family, socket.IPPROTO_TCP, 0, _ALL_STATES) + ends + _ANY_COOKIE
        self._line.send(_HEAD.pack(_HEAD.size + len(body), _BY_FAMILY, _REQUEST, 0, 0) + body)
        answer = self._line.recv(4096)
        if _HEAD.unpack_from(answer)[1] != _BY_FAMILY:  # an error: a number below 0
            number = -_ERROR.unpack_from(answer, _HEAD.size)[0]
            if number == errno.ENOENT and self._has_answered:
                return None
            raise OSError(number, os.strerror(number))
        self._has_answered = True
        return int(_USER.unpack_from(answer, _USER_AT)[0]) if answer[_STATE_AT] == _ESTABLISHED else None


@functools.lru_cache(maxsize=_PAIRS)
def _between(there: str, here: str) -> tuple[object, int, bytes]:
    """The peer by its address alone; and where that is this machine, the family of addresses and both, as sock_diag wants them."""
    one, own = _plain(there), _plain(here)
    if not (one.is_loopback or one == own):
        return (one if one.version == 4 else one.packed[:_NETWORK_BYTES]), 0, b""
    family = socket.AF_INET if one.version == 4 else socket.AF_INET6
    return "", family, b"".join(each.packed.ljust(16, b"\0") for each in (one, own)) + bytes(4)


def _plain(address: str) -> "ipaddress.IPv4Address | ipaddress.IPv6Address":
    """An IPv4 address as itself, also on a socket of both kinds."""
    found = ipaddress.ip_address(address.partition("%")[0])
    return (found.ipv4_mapped or found) if found.version == 6 else found
