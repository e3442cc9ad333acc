"""Two rtnetlink(7) queries: the kinds of interfaces, and the Data Center Bridging settings of a port.

They see this process' network namespace, set nothing and need no capability.
"""

import errno
import os
import socket
import struct
from collections.abc import Iterator
from typing import Any

from hostagent.core.unread import Unread, Why
from hostagent.host.files import unread

_REQUEST, _DUMP = 0x01, 0x300
_ERROR, _DONE = 2, 3
_GETLINK, _GETDCB = 18, 78
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr: length, type, flags, sequence, port
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr: length, type
_LINK = struct.Struct("=BxHiII")  # struct ifinfomsg: family, hardware, index, flags, change
_LINKINFO, _INFO_KIND, _IFNAME = 18, 1, 3
#: Skips counters, most of an answer (linux/rtnetlink.h).
_EXT_MASK, _SKIP_STATS = 29, 1 << 3
_DCB = struct.Struct("=BBH")  # struct dcbmsg: family, command, padding
_IEEE_GET = 21
_DCB_IFNAME, _DCB_IEEE, _DCB_DCBX = 1, 13, 14
_IEEE_PFC, _IEEE_APPS, _IEEE_TRUST = 2, 3, 11
#: Of an answer, see `parse_dcb`.
_FIELDS = ("pfc", "dscp", "selectors", "dcbx")
_APP = struct.Struct("=BBH")  # struct dcb_app: selector, priority, protocol
#: A flag of an attribute's type (linux/netlink.h).
_NESTED = 0x3FFF
_BUFFER = 1 << 20
_TIMEOUT_S = 0.9
_MOST_MESSAGES = 65536
_NAME_BYTES = 16


def kinds() -> "dict[str, tuple[int, str]] | Unread":
    """Index and kind (IFLA_INFO_KIND, "" for none) of each interface, by RTM_GETLINK."""
    mask = _attribute(_EXT_MASK, struct.pack("=I", _SKIP_STATS))
    try:
        answer = list(_asked(_GETLINK, _REQUEST | _DUMP, _LINK.pack(0, 0, 0, 0, 0) + mask))
        return dict(map(parse_link, answer))
    except OSError as error:
        return unread(error, "RTM_GETLINK")
    except ValueError as error:
        return Unread("error", f"RTM_GETLINK: {error}")


def dcb(name: str) -> "dict[str, Any] | Unread":
    """A port's configuration by IEEE 802.1Qaz (DCB_CMD_IEEE_GET).

    With a driver or kernel that lacks it everything is None. That is an answer: the card may be configured all the same.
    ``denied``, ``timeout`` and ``error`` mean that there was no answer.
    """
    if len(name.encode()) >= _NAME_BYTES:
        return Unread("error", f"DCB of {name[:_NAME_BYTES]}: too long a name")
    body = _DCB.pack(0, _IEEE_GET, 0) + _attribute(_DCB_IFNAME, name.encode() + b"\0")
    try:
        for answer in _asked(_GETDCB, _REQUEST, body):
            return parse_dcb(answer)
    except OSError as error:
        if error.errno == errno.EOPNOTSUPP:
            return dict.fromkeys(_FIELDS)
        why: Why = "denied" if isinstance(error, PermissionError) else "timeout" if isinstance(error, TimeoutError) else "error"
        return Unread(why, f"DCB of {name}: {(error.strerror or str(error)).lower()}")
    except ValueError as error:
        return Unread("error", f"DCB of {name}: {error}")
    return Unread("error", f"DCB of {name}: no answer")


def _asked(kind: int, flags: int, body: bytes) -> Iterator[bytes]:
    """The answers' bodies, without the header of each. Raises ``OSError``, and ``ValueError`` where they are no messages."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as opened:
        opened.settimeout(_TIMEOUT_S)
        opened.sendto(_HEADER.pack(_HEADER.size + len(body), kind, flags, 1, 0) + body, (0, 0))
        is_dump = bool(flags & _DUMP)
        for _ in range(_MOST_MESSAGES):
            data, sender = opened.recvfrom(_BUFFER)
            if sender[0] != 0:  # any process may write to such a socket; the kernel is port 0
                continue
            for number, content in parse_messages(data):
                if number == _DONE:
                    return
                if number == _ERROR:
                    _raise(content)
                    return
                yield content
            if not is_dump:
                return


def _raise(content: bytes) -> None:
    """A struct nlmsgerr begins with the error's number, below zero; zero is no error."""
    if len(content) < 4:
        raise ValueError("found an error without a number")
    (number,) = struct.unpack_from("=i", content)
    if number:
        raise OSError(-number, os.strerror(-number))


def _attribute(kind: int, value: bytes) -> bytes:
    return _ATTRIBUTE.pack(_ATTRIBUTE.size + len(value), kind) + value + bytes(-len(value) % 4)


def parse_messages(data: bytes) -> "list[tuple[int, bytes]]":
    r"""Type and body of each message of a datagram (netlink(7)). Raises ``ValueError``.

    >>> parse_messages(bytes([20, 0, 0, 0, 3, 0, 2, 0, 1, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]))
    [(3, b'\x00\x00\x00\x00')]
    """
    found, at = [], 0
    while at + _HEADER.size <= len(data):
        length, kind, _, _, _ = _HEADER.unpack_from(data, at)
        if length < _HEADER.size or at + length > len(data):
            raise ValueError(f"found a message of {length} bytes")
        found.append((kind, data[at + _HEADER.size : at + length]))
        at += length + -length % 4
    return found


def parse_attributes(data: bytes) -> "list[tuple[int, bytes]]":
    r"""Type and value of each attribute. Raises ``ValueError``.

    >>> parse_attributes(bytes([8, 0, 3, 0]) + b"lo" + bytes(2) + bytes([5, 0, 14, 128, 9, 0, 0, 0]))
    [(3, b'lo\x00\x00'), (14, b'\t')]
    """
    found, at = [], 0
    while at + _ATTRIBUTE.size <= len(data):
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < _ATTRIBUTE.size or at + length > len(data):
            raise ValueError(f"found an attribute of {length} bytes")
        found.append((kind & _NESTED, data[at + _ATTRIBUTE.size : at + length]))
        at += length + -length % 4
    return found


def parse_link(message: bytes) -> "tuple[str, tuple[int, str]]":
    """Name of an interface, its index and its kind. Raises ``ValueError``.

    >>> name, kind = bytes([7, 0, 3, 0]) + b"v1" + bytes(2), bytes([12, 0, 18, 0, 8, 0, 1, 0]) + b"veth"
    >>> parse_link(bytes(4) + bytes([7, 0, 0, 0]) + bytes(8) + name + kind)
    ('v1', (7, 'veth'))
    """
    if len(message) < _LINK.size:
        raise ValueError(f"found an interface of {len(message)} bytes")
    _, _, index, _, _ = _LINK.unpack_from(message)
    values = dict(parse_attributes(message[_LINK.size :]))
    word = dict(parse_attributes(values.get(_LINKINFO, b""))).get(_INFO_KIND, b"")
    return _text(values.get(_IFNAME, b"")), (index, _text(word))


def parse_dcb(message: bytes) -> "dict[str, Any]":
    """``pfc``: priorities with PFC; ``dscp``: pairs of DSCP and priority, ``26:3`` with blanks between; ``selectors``: fields that are
    trusted, None where the driver does not say; ``dcbx``: flags, None where there is no DCBX. Raises ``ValueError``.

    >>> pfc, dscp = bytes([7, 0, 2, 0, 8, 8, 0, 0]), bytes([12, 0, 3, 0, 8, 0, 1, 0, 5, 3, 26, 0])
    >>> parse_dcb(bytes(4) + bytes([24, 0, 13, 128]) + pfc + dscp + bytes([5, 0, 14, 0, 5, 0, 0, 0]))
    {'pfc': [3], 'dscp': '26:3', 'selectors': None, 'dcbx': 5}
    """
    values = dict(parse_attributes(message[_DCB.size :]))
    ieee = dict(parse_attributes(values.get(_DCB_IEEE, b"")))
    apps = [_APP.unpack_from(value) for _, value in parse_attributes(ieee.get(_IEEE_APPS, b"")) if len(value) >= _APP.size]
    trusted = [value[0] for _, value in parse_attributes(ieee.get(_IEEE_TRUST, b"")) if value]
    pfc, dcbx = ieee.get(_IEEE_PFC), values.get(_DCB_DCBX)
    return {
        "pfc": [priority for priority in range(8) if pfc[1] >> priority & 1] if pfc is not None and len(pfc) > 1 else None,
        "dscp": " ".join(f"{protocol}:{priority}" for selector, priority, protocol in sorted(apps) if selector == _DSCP),
        "selectors": trusted if _IEEE_TRUST in ieee else None,
        "dcbx": dcbx[0] if dcbx else None,
    }


#: IEEE_8021QAZ_APP_SEL_DSCP.
_DSCP = 5


def _text(value: bytes) -> str:
    return value.partition(b"\0")[0].decode("utf-8", "replace")
