"""Whether a list of addresses names this host."""

import ipaddress

from hostagent.core.unread import need
from hostagent.facts.network import Network

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def lacks_own(listed: tuple[str, ...], network: Network) -> bool:
    """Whether no entry is an address of this host; False where names are among them. Raises ``UnreadError``."""
    addresses = {_parsed(one) for one in listed}
    if None in addresses:
        return False
    own = {_parsed(address.value) for one in need(network.netdevs) for address in need(one.addresses)}
    routed = {one for one in own if one is not None and not one.is_loopback and not one.is_link_local}
    return bool(routed) and not addresses & own


def _parsed(text: str) -> "_Address | None":
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
