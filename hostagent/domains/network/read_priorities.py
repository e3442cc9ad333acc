"""Lossless priorities of a port, from Data Center Bridging and from what the vendor's own driver shows."""

# DCB is one DCB_CMD_IEEE_GET a port. A driver without it (EOPNOTSUPP) answers no value: each value is an error and not
# "not-supported", because the card may have it. Firmware that negotiates by itself (DCBX not by the host) is unknown. Trust: the
# vendor's qos/trust, the table of trusted selectors (Linux 6.2), else for mlx5_core whether the port has DSCP entries; of other
# drivers unknown.

import re
from typing import Any

from hostagent.core.unread import NOT_APPLICABLE, Unread
from hostagent.domains.network.answers import number_of, value_in
from hostagent.facts.network import Priorities
from hostagent.host.source import Source

#: Of a DCBX mode: this host configures the port, not the card (linux/dcbnl.h, DCB_CAP_DCBX_HOST).
_HOST = 0x01
#: Fields of a packet that a port may trust (linux/dcbnl.h): IEEE_8021QAZ_APP_SEL_DSCP, DCB_APP_SEL_PCP.
_DSCP, _PCP = 5, 255
#: The driver of ports that trust DSCP if their table has DSCP entries, else PCP (mlnx_qos of mlnx-tools).
_MLX5 = "mlx5_core"
_PRIORITIES = frozenset("01234567")
_NO_ECN = Unread("not-supported", "the driver does not say where ECN is on")


def read_priorities(source: Source, name: str, driver: "str | Unread") -> "Priorities | Unread":
    dcb, question = source.network("dcb", name), f"network dcb {name}"
    vendors = source.network("vendors", name)
    if isinstance(dcb, Unread) and dcb.why == "not-supported":
        return dcb
    entries = _entries(dcb, question)
    return Priorities(
        lossless=_numbers(dcb, question, "pfc"),
        trust=_trust(_field(dcb, question, "selectors"), _vendors_word(vendors, f"network vendors {name}"), entries, driver),
        dscp=entries,
        firmware_dcbx=_firmware(dcb, question),
        ecn=_ecn(vendors, f"network vendors {name}"),
        asked=_asked(dcb, vendors, f"network vendors {name}"),
    )


def _asked(dcb: Any, vendors: Any, question: str) -> "bool | Unread":
    """Whether all was asked that decides into which priority packets go. Most ports have no files of a vendor's own."""
    if isinstance(dcb, Unread):
        return dcb
    if isinstance(vendors, Unread) and vendors.why not in NOT_APPLICABLE:
        return vendors
    trust = _vendors_word(vendors, question)
    return trust if isinstance(trust, Unread) and trust.why not in NOT_APPLICABLE else True


def _numbers(dcb: Any, question: str, key: str) -> "tuple[int, ...] | Unread":
    found = _field(dcb, question, key)
    if isinstance(found, list) and all(type(one) is int for one in found):
        return tuple(found)
    return found if isinstance(found, Unread) else Unread("error", f"{question}: {key} is no list of numbers", question)


def _field(dcb: Any, question: str, key: str) -> Any:
    """A value that the driver does not report is unknown: it may be configured on the card."""
    if isinstance(dcb, Unread):
        return dcb
    found = dcb.get(key) if isinstance(dcb, dict) else None
    return Unread("error", f"{question}: the driver does not say {key}", question) if found is None else found


def _entries(dcb: Any, question: str) -> "tuple[tuple[int, int], ...] | Unread":
    found = _field(dcb, question, "dscp")
    return found if isinstance(found, Unread) else parse_dscp(str(found))


def parse_dscp(text: str) -> "tuple[tuple[int, int], ...] | Unread":
    """Pairs of DSCP and priority.

    >>> parse_dscp("26:3 48:6"), parse_dscp(""), parse_dscp("26:9")
    (((26, 3), (48, 6)), (), Unread('error', "found '26:9', wanted a DSCP and its priority"))
    """
    found = []
    for pair in text.split():
        match = re.fullmatch(r"([0-9]|[1-5][0-9]|6[0-3]):([0-7])", pair, re.ASCII)
        if not match:
            return Unread("error", f"found {pair[:40]!r}, wanted a DSCP and its priority")
        found.append((int(match[1]), int(match[2])))
    return tuple(found)


def _vendors_word(vendors: Any, question: str) -> "str | Unread":
    """The trust setting of the port by the vendor's driver, "" if it has none."""
    return value_in(vendors, question, "trust") if isinstance(vendors, dict) else ""


def _trust(
    selectors: Any, shown: "str | Unread", entries: "tuple[tuple[int, int], ...] | Unread", driver: "str | Unread"
) -> "str | Unread":
    if isinstance(shown, Unread) or shown:
        return shown
    if isinstance(selectors, list):
        return "dscp" if _DSCP in selectors else "pcp" if _PCP in selectors else "none"
    if isinstance(entries, Unread) or isinstance(driver, Unread):
        return entries if isinstance(entries, Unread) else driver
    return ("dscp" if entries else "pcp") if driver == _MLX5 else Unread("error", "the driver does not say what the port trusts")


def _firmware(dcb: Any, question: str) -> "bool | Unread":
    flags = _field(dcb, question, "dcbx")
    if isinstance(flags, Unread):
        return flags
    return not flags & _HOST if isinstance(flags, int) else Unread("error", f"{question}: dcbx is no number", question)


def _ecn(vendors: Any, question: str) -> "tuple[int, ...] | Unread":
    """Priorities with ECN on both halves."""
    if isinstance(vendors, Unread):
        return _NO_ECN if vendors.why == "absent" else vendors
    halves = vendors.get("ecn") if isinstance(vendors, dict) else None
    if not isinstance(halves, dict) or not any(halves.values()):
        return _NO_ECN
    on: list[set[int]] = []
    for half in ("roce_np", "roce_rp"):
        values = halves.get(half, {})
        if not isinstance(values, dict):
            return Unread("error", f"{question}: {half} names no priorities", question)
        numbers = {int(key): number_of(values, question, key) for key in values if key in _PRIORITIES}
        unread = next((one for one in numbers.values() if isinstance(one, Unread)), None)
        if unread is not None:
            return unread
        on.append({priority for priority, value in numbers.items() if value == 1})
    return tuple(sorted(on[0] & on[1]))
