"""Addresses under other addresses: what two of them share at their beginning stays shared, and special ranges stay what they are.

The construction is Crypto-PAn's (Xu, Fan, Ammar, Moon: Prefix-Preserving IP Address Anonymization, ICNP 2002): whether a bit is turned
depends on the key and on the bits before it. The function is HMAC-SHA-256 here, asked once for the 255 places of a tree of eight
bits. On the way to a special range no bit is turned: the range is mapped onto itself, and nothing else into it.
"""

import hashlib
import hmac
import re
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from hostagent.snapshot import identities as found

#: IANA's special-purpose address registries: in them the first bits of an address give its meaning. Each octet by octet, and its bits.
_RANGES4 = (
    (b"\0", 8), (b"\x7f", 8), (b"\xa9\xfe", 16), (b"\xe0", 4),  # this network, loopback, link-local, multicast, and so what is above it
    (b"\x0a", 8), (b"\xac\x10", 12), (b"\xc0\xa8", 16), (b"\x64\x40", 10),  # private, and shared by customers of one provider
)  # fmt: skip
_RANGES6 = ((b"\0", 8), (b"\xfc", 7), (b"\xfe\x80", 9), (b"\xff", 8))  # ::1 and ::ffff:…, unique local, link-local, multicast
_MAPPED = bytes(10) + b"\xff\xff"
#: So many pieces of addresses are remembered: those of one host are few, and a tape may hold a million others.
_REMEMBERED = 8192


def _ways(ranges: "tuple[tuple[bytes, int], ...]") -> Mapping[bytes, int]:
    """For the octets before it, the places of the next octet's tree that lie on the way to a range, as bits."""
    found: dict[bytes, int] = {}
    for octets, bits in ranges:
        for at in range(bits):
            octet, depth = divmod(at, 8)
            before = octets[:octet]
            found[before] = found.get(before, 0) | 1 << (1 << depth | octets[octet] >> (8 - depth))
    return found


_WAYS = {4: _ways(_RANGES4), 6: _ways(_RANGES6)}


class AddressMap:
    """One map of IPv4, IPv6, Ethernet addresses and GUIDs for every spelling; numbers in the order of the network."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._turns = lru_cache(_REMEMBERED)(self._places)

    def ipv4(self, octets: bytes, length: int = 32) -> bytes:
        """`length` is that of the prefix: a network's own address stays one.

        >>> ours = AddressMap(b"key")
        >>> [".".join(map(str, ours.ipv4(bytes(one)))) for one in ((10, 1, 2, 3), (10, 1, 2, 4), (10, 9, 2, 3), (127, 0, 0, 1))]
        ['10.160.188.102', '10.160.188.98', '10.169.107.129', '127.0.0.1']
        """
        stays = octets[0] in (0, 127, 255) or octets[:3] == b"\xe0\0\0" or is_netmask(octets)
        return octets if stays else _network(octets, self._turned(octets, 4), length)

    def ipv6(self, octets: bytes, length: int = 128) -> bytes:
        """Also a GID. Of link-local ones, as of those of an InfiniBand subnet, the prefix stays; what an Ethernet address or a GUID is
        inside is mapped as they are alone.
        """
        if octets[:12] == _MAPPED:
            return _MAPPED + self.ipv4(octets[12:], length - 96)
        if not any(octets[:15]) or (octets[0] == 0xFF and not any(octets[2:14])):
            return octets
        is_local = octets[0] == 0xFE and octets[1] >= 0x80
        if is_local or octets[11:13] == b"\xff\xfe":
            return _network(octets, (octets[:8] if is_local else self._turned(octets[:8], 6)) + self.guid(octets[8:]), length)
        kept = 2 if octets[0] == 0xFF else 0
        return _network(octets, octets[:kept] + self._turned(octets, 6)[kept:], length)

    def mac(self, octets: bytes) -> bytes:
        """Of an Ethernet address, which stays one of one card or of many, made by hand or not (IEEE 802c)."""
        if octets in (bytes(6), b"\xff" * 6):
            return octets
        other = self._digest(b"mac", octets)[:6]
        return bytes([other[0] & 0xFC | octets[0] & 3]) + other[1:]

    def guid(self, octets: bytes) -> bytes:
        """Of a GUID or an interface's identifier; what is made of an Ethernet address stays made of it (RFC 4291, appendix A)."""
        if octets[3:5] == b"\xff\xfe":
            other = self.mac(bytes([octets[0] ^ 2]) + octets[1:3] + octets[5:])
            return bytes([other[0] ^ 2]) + other[1:3] + b"\xff\xfe" + other[3:]
        return octets if octets in (bytes(8), b"\xff" * 8) else self._digest(b"guid", octets)[:8]

    def hardware(self, octets: bytes) -> bytes:
        """Of an address of any link: Ethernet, with its kind before it as PXE has it, a GUID, or IPoIB's queue pair and GID (RFC 4391)."""
        match len(octets):
            case 6 | 7:
                return octets[:-6] + self.mac(octets[-6:])
            case 8:
                return self.guid(octets)
            case _:
                return octets[:4] + self.ipv6(octets[4:])

    def _turned(self, octets: bytes, family: int) -> bytes:
        ways = _WAYS[family]
        befores = (octets[:at] for at in range(len(octets)))
        turns = (self._turns(family, before) & ~ways.get(before, 0) for before in befores)
        return bytes(octet ^ _mask(octet, places) for octet, places in zip(octets, turns, strict=True))

    def _places(self, family: int, before: bytes) -> int:
        return int.from_bytes(self._digest(b"ipv%d" % family, before), "big")

    def _digest(self, kind: bytes, octets: bytes) -> bytes:
        return hmac.digest(self._key, kind + b" " + octets, hashlib.sha256)


def _mask(octet: int, places: int) -> int:
    """The bits of an octet that are flipped: those before each give its place in the tree."""
    return sum(0x80 >> depth for depth in range(8) if places >> (1 << depth | octet >> (8 - depth)) & 1)


def _network(octets: bytes, other: bytes, length: int) -> bytes:
    """`other`, as the address of a network where `octets` is that of one with a prefix of `length` bits. One of two hosts has none."""
    size = 8 * len(octets)
    if not 0 <= length < size - 1:
        return other
    hosts = (1 << (size - length)) - 1
    if int.from_bytes(octets, "big") & hosts:
        return other
    return (int.from_bytes(other, "big") & ~hosts).to_bytes(len(octets), "big")


def is_netmask(octets: bytes) -> bool:
    """
    Whether it is ones, then zeros.

    >>> is_netmask(bytes((255, 255, 254, 0))), is_netmask(bytes((192, 168, 0, 0)))
    (True, False)
    """
    zeros = ~int.from_bytes(octets, "big") & ((1 << 8 * len(octets)) - 1)
    return zeros & (zeros + 1) == 0


class Spellings:
    """The map for what the patterns of `hostagent.snapshot.identities` find."""

    def __init__(self, key: bytes) -> None:
        self._map = AddressMap(key)

    def ipv4(self, seen: "re.Match[str]") -> str:
        """Dotted; with ``/24`` behind it, or below it as in fib_trie."""
        if found.VERSION_BEFORE.search(seen.string, max(0, seen.start() - 16), seen.start()):
            return seen[0]
        bits = _bits(seen)
        return str(IPv4Address(self._map.ipv4(IPv4Address(seen[0]).packed, bits - 96 if bits > 32 else bits)))

    def ipv6(self, seen: "re.Match[str]") -> str:
        """Times, PCI addresses, C++ names and octets of a GUID look alike: what is no address stays. A GID keeps all its digits."""
        try:
            address = IPv6Address(seen[0])
        except AddressValueError:
            return seen[0]
        if found.OCTETS.fullmatch(seen[0]) or not re.search(r"\d", seen[0]):
            return seen[0]
        other = IPv6Address(self._map.ipv6(address.packed, _bits(seen)))
        if other == address:
            return seen[0]
        return other.exploded if len(seen[0]) == len(address.exploded) else str(other)

    def hardware(self, seen: "re.Match[str]") -> str:
        """Of an Ethernet address or a GUID the digits, with the separators between them."""
        digits = "".join(char for char in seen[0].removeprefix("0x") if char not in ":-.")
        other = iter(self._map.hardware(bytes.fromhex(digits)).hex())
        start = "0x" if seen[0].startswith("0x") else ""
        return start + "".join(char if char in ":-." else next(other) for char in seen[0][len(start) :])

    def route6(self, seen: "re.Match[str]") -> str:
        """Of /proc/net/ipv6_route: two networks and a next hop, each in 32 digits."""
        to, to_bits, of, of_bits, via = seen[0].split(" ")
        return " ".join((self._digits(to, int(to_bits, 16)), to_bits, self._digits(of, int(of_bits, 16)), of_bits, self._digits(via)))

    def own6(self, seen: "re.Match[str]") -> str:
        """Of /proc/net/if_inet6."""
        return self._digits(seen[0])

    def route(self, seen: "re.Match[str]") -> str:
        """Of /proc/net/route: interface, network, gateway, and the mask as the eighth."""
        name, network, gateway, *rest, mask = seen[0].split("\t")
        return "\t".join((name, self._word(network, int(mask, 16).bit_count()), self._word(gateway), *rest, mask))

    def socket(self, seen: "re.Match[str]") -> str:
        """Of /proc/net/tcp and tcp6."""
        return re.sub("[0-9A-F]{8,32}", lambda one: self._words(one[0]), seen[0])

    def _digits(self, digits: str, bits: int = 128) -> str:
        return self._map.ipv6(bytes.fromhex(digits), bits).hex()

    def _word(self, digits: str, bits: int = 32) -> str:
        """Four octets in the order of the processor: of all that have NVIDIA's GPUs the last comes first."""
        return self._map.ipv4(bytes.fromhex(digits)[::-1], bits)[::-1].hex().upper()

    def _words(self, digits: str) -> str:
        if len(digits) == 8:
            return self._word(digits)
        other = self._map.ipv6(_swapped(bytes.fromhex(digits)))
        return _swapped(other).hex().upper()


def _swapped(octets: bytes) -> bytes:
    """Each four of them the other way round."""
    return b"".join(octets[at : at + 4][::-1] for at in range(0, len(octets), 4))


def _bits(seen: "re.Match[str]") -> int:
    """The length of the prefix behind an address, 128 where there is none."""
    behind = found.BITS.match(seen.string, seen.end())
    return int(behind[1]) if behind else 128
