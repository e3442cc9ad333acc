"""Changes of network interfaces by rtnetlink(7), in the host's network namespace: a link down or another MTU sends no uevent.

A pair of veth sends ten messages of some 30 attributes. Parsed as answers are, by `read_netlink`, they take 0.53 ms of
processor time; read in place, and of an interface that does not count no more than its name, 0.22 ms.
"""

import contextlib
import errno
import os
import socket
import struct
from collections.abc import Collection, Iterator
from typing import NamedTuple

from hostagent.core.answers import MIB
from hostagent.core.errors import HostagentError
from hostagent.domains.network.read_netlink import parse_messages
from hostagent.host.paths import Root
from hostagent.sandbox.namespaces import enter_network_namespace

_RTNLGRP_LINK, _NEWLINK, _DELLINK, _GETLINK = 1, 16, 17, 18
_REQUEST_DUMP = 0x301
_SO_RCVBUFFORCE = 33
_MESSAGE = struct.Struct("=BxHiII")  # struct ifinfomsg: family, hardware, index, flags, change
_ATTRIBUTE = struct.Struct("=HH")  # struct nlattr: length, type
_HEADER = struct.Struct("=IHHII")  # struct nlmsghdr: length, type, flags, sequence, port
_SKIP_STATS = struct.pack("=HHI", 8, 29, 1 << 3)  # IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS
_TYPE = 0x3FFF  # without the flags of a type (linux/netlink.h)
_IFNAME, _MTU, _MASTER, _OPERSTATE, _LINKINFO, _INFO_KIND = 3, 4, 10, 16, 18, 1
#: Datagrams per call; the rest stays in the socket. Interfaces that are remembered: more than a host of 512 pods has.
_MOST, _MOST_LINKS = 4096, 8192
_BUFFER = 65536
_SHORT = "found an interface of {} bytes"


class Link(NamedTuple):
    """The values of one interface that checks depend on: the kernel also sends messages for other changes."""

    name: str
    is_software: bool  # it has a kind, IFLA_LINKINFO
    state: "tuple[int, bytes, bytes, bytes] | None"  # flags, MTU, operstate and master; None where it was not parsed


class LinkEvents:
    """The socket, open from the start on. Where it cannot be in the host's namespace `problem` is a sentence, and `descriptor` -1."""

    def __init__(self, root: Root) -> None:
        """Raises ``HostagentError`` where this process could not return to its own namespace: it must end."""
        self.descriptor = -1
        self.problem = ""
        self._socket: socket.socket | None = None
        self._links: dict[int, Link] = {}
        try:
            self._socket = _opened(root)
            self.descriptor = self._socket.fileno()
            self._list()
        except OSError as error:
            self._end(error)

    def look(self, taken: "Collection[str] | None") -> bool:
        """Whether a message since the last call changes an interface that checks depend on, or messages were lost.

        At the first call each interface is new.

        `taken`: names of the software interfaces that count, None for all. Interfaces of devices always count.
        """
        found = False
        for _ in range(_MOST if self._socket else 0):
            assert self._socket is not None
            try:
                data, sender = self._socket.recvfrom(_BUFFER)
            except BlockingIOError:
                break
            except OSError as error:
                found = True
                if error.errno != errno.ENOBUFS:  # some were lost, netlink(7)
                    self._end(error)
                    break
                self._list()
                continue
            if sender[0] == 0:  # the kernel's port: any process may write to such a socket
                found = self.counts(data, taken) or found
        return found

    def _list(self) -> None:
        """Ask for all interfaces: the answers arrive among the changes, and are compared as these are."""
        body = _MESSAGE.pack(socket.AF_UNSPEC, 0, 0, 0, 0) + _SKIP_STATS
        request = _HEADER.pack(_HEADER.size + len(body), _GETLINK, _REQUEST_DUMP, 1, 0) + body
        if self._socket:
            with contextlib.suppress(OSError):  # a message that finds nothing to compare with counts
                self._socket.sendto(request, (0, 0))

    def counts(self, data: bytes, taken: "Collection[str] | None") -> bool:
        """Whether a datagram has such a change. What cannot be parsed is one."""
        try:
            found = [self._is_change(kind, message, taken) for kind, message in parse_messages(data) if kind in (_NEWLINK, _DELLINK)]
            return any(found)
        except ValueError:
            return True

    def _is_change(self, kind: int, message: bytes, taken: "Collection[str] | None") -> bool:
        """Messages of a family, such as of a bridge about its ports, have no kind, and repeat others. Raises ``ValueError``."""
        if len(message) < _MESSAGE.size:
            raise ValueError(_SHORT.format(len(message)))
        family, _, index, _, _ = _MESSAGE.unpack_from(message)
        if family != socket.AF_UNSPEC:
            return False
        before = self._links.pop(index, None)
        is_idle = before is not None and before.is_software and taken is not None and before.name not in taken
        if before and is_idle and name_of(message) == before.name:
            now = before._replace(state=None)  # it may count once a pass has read it
        else:
            now, is_idle = parse_link(message), False
        if kind == _NEWLINK:
            if len(self._links) >= _MOST_LINKS:
                self._links.clear()
            self._links[index] = now
        if is_idle or (kind == _NEWLINK and now == before):
            return False
        names = {now.name, before.name if before else now.name}
        return not now.is_software or taken is None or "" in names or not names.isdisjoint(taken)

    def _end(self, error: OSError) -> None:
        if self._socket:
            self._socket.close()
        self._socket, self.descriptor = None, -1
        self.problem = f"links of the host cannot be watched, so one that goes down is found by the next interval: {error}"


def name_of(message: bytes) -> str:
    """The name of an interface, from its message; "" for none. Raises ``ValueError``."""
    attributes = _attributes(message, _MESSAGE.size, len(message))
    return next((_text(message, start, end) for kind, start, end in attributes if kind == _IFNAME), "")


def parse_link(message: bytes) -> Link:
    r"""Raises ``ValueError``.

    >>> name, mtu, kind = b"\7\0\3\0v1\0\0", b"\x08\0\4\0\xdc\5\0\0", b"\x0c\0\x12\0\x08\0\1\0veth"
    >>> parse_link(bytes(8) + b"\3" + bytes(7) + name + mtu + kind)
    Link(name='v1', is_software=True, state=(3, b'\xdc\x05\x00\x00', b'', b''))
    """
    if len(message) < _MESSAGE.size:
        raise ValueError(_SHORT.format(len(message)))
    flags = _MESSAGE.unpack_from(message)[3]
    name, is_software = "", False
    values = {_MTU: b"", _OPERSTATE: b"", _MASTER: b""}
    for kind, start, end in _attributes(message, _MESSAGE.size, len(message)):
        if kind in values:
            values[kind] = message[start:end]
        elif kind == _IFNAME:
            name = _text(message, start, end)
        elif kind == _LINKINFO:
            is_software = any(inner == _INFO_KIND for inner, _, _ in _attributes(message, start, end))
    return Link(name, is_software, (flags, values[_MTU], values[_OPERSTATE], values[_MASTER]))


def _attributes(data: bytes, at: int, end: int) -> "Iterator[tuple[int, int, int]]":
    """Type, and where its value begins and ends, of each attribute. Raises ``ValueError``."""
    while at + _ATTRIBUTE.size <= end:
        length, kind = _ATTRIBUTE.unpack_from(data, at)
        if length < _ATTRIBUTE.size or at + length > end:
            raise ValueError(f"found an attribute of {length} bytes")
        yield kind & _TYPE, at + _ATTRIBUTE.size, at + length
        at += length + -length % 4


def _text(data: bytes, start: int, end: int) -> str:
    return data[start:end].partition(b"\0")[0].decode("utf-8", "replace")


def _opened(root: Root) -> socket.socket:
    """In the host's network namespace, which a process of a container need not be in. Raises ``OSError`` and ``HostagentError``."""
    from hostagent.domains.network.read_network_answers import namespace, open_network_namespace

    if root.simulated or namespace(root).unasked is None:  # of a made tree, this machine's, as uevents are
        return _bound()
    own = os.open("/proc/self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        host = open_network_namespace(root)
        try:
            enter_network_namespace(host)
        finally:
            os.close(host)
        try:
            return _bound()
        finally:
            _return(own)
    finally:
        os.close(own)


def _return(own: int) -> None:
    """A socket of the namespace left behind stays there. Raises ``HostagentError``, never ``OSError``: callers go on after that."""
    try:
        enter_network_namespace(own)
    except OSError as error:
        raise HostagentError(
            f"the network namespace of this process cannot be entered again: {error}", "Report it; start the daemon with the host's network"
        ) from error


def _bound() -> socket.socket:
    """The socket in this process' namespace; it never waits. Raises ``OSError``."""
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK, socket.NETLINK_ROUTE)
    try:
        try:
            opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, MIB)
        except PermissionError:  # without CAP_NET_ADMIN up to net.core.rmem_max
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MIB)
        opened.bind((0, 1 << (_RTNLGRP_LINK - 1)))
    except OSError:
        opened.close()
        raise
    return opened
