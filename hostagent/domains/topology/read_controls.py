"""Settings of the PCI functions between GPUs and the network (PCI Express Base Specification, sections 7.5.3.4 and 7.7.11).

A read of configuration space is slow and wakes a sleeping card, so it happens only on hosts with both a GPU and a card with an RDMA
device, and only for these and the bridges above; without such a card, for the bridges above GPUs that PCIe alone may join. All
functions are one question: without CAP_SYS_ADMIN there is one gap.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from hostagent.core.parsing import parse_number, stops_at_unread
from hostagent.core.tables.nvlink_fabric import has_links_built_in
from hostagent.core.tables.pci import is_coherent
from hostagent.core.unread import Unread, Why, need, then
from hostagent.domains.topology import read_pci
from hostagent.facts.topology import PciControl, PciPlace
from hostagent.host.source import Source
from hostagent.host.values import line_in

_GROUPS = "/sys/kernel/iommu_groups"
_DRIVER = "nvidia"
_NOT_ON_TAPE = ("not-recorded", "older-recording")
_GROUP = re.compile(r"[0-9]{1,9}", re.ASCII)
_NOT_ASKED = Unread("not-supported", "of a bridge the IOMMU group is not looked at")
#: The value of a register of a function that no longer answers.
_GONE = 0xFFFF
#: Sizes in the device control register: 128 bytes shifted left by the value of the bits; 6 and 7 are reserved.
_SMALLEST_BYTES, _MOST_DOUBLED = 128, 5
_PAYLOAD_BIT, _REQUEST_BIT = 5, 12


@stops_at_unread
def read_controls(source: Source, places: "tuple[PciPlace, ...] | Unread", gpus: "frozenset[str] | Unread") -> tuple[PciControl, ...]:
    """Settings of GPUs, cards with RDMA and their bridges, by address; none unless the host has both. A virtual function is its card's."""
    with_rdma = {_card(source, one.pci) for one in need(places) if one.pci not in need(gpus) and _has_rdma(source, one.pci)}
    ours = [one for one in need(places) if one.pci in need(gpus) and not read_pci.is_virtual(source, one.pci)]
    cards = [one for one in need(places) if one.pci in with_rdma]
    if not ours or not cards:
        return ()
    devices = {one.pci for one in (*ours, *cards)}
    addresses = sorted(devices | {bridge for one in (*ours, *cards) for bridge in one.bridges})
    answer = _ask(source, addresses)
    return tuple(control_of(one, answer, _iommu(source, one) if one in devices else _NOT_ASKED) for one in addresses)


@stops_at_unread
def read_gpu_ports(
    source: Source,
    places: "tuple[PciPlace, ...] | Unread",
    gpus: "frozenset[str] | Unread",
    controls: "tuple[PciControl, ...] | Unread",
) -> tuple[PciControl, ...]:
    """GPUs, without a read of their own configuration, and the bridges above them; what `controls` has is not read again."""
    ours = [one for one in need(places) if one.pci in need(gpus) and _is_joined_by_pcie(source, one.pci)]
    if len(ours) < 2:
        return ()
    bridges = sorted({bridge for one in ours for bridge in one.bridges})
    known = {one.pci: one for one in need(controls)}
    missing = [bridge for bridge in bridges if bridge not in known]
    answer = _ask(source, missing) if missing else {}
    of_gpu = Unread("not-supported", "the configuration of a GPU is not read for this")
    found = [known.get(one.pci) or control_of(one.pci, of_gpu, _iommu(source, one.pci)) for one in ours]
    return tuple(sorted((*found, *(known.get(one) or control_of(one, answer, _NOT_ASKED) for one in bridges)), key=lambda one: one.pci))


def _is_joined_by_pcie(source: Source, address: str) -> bool:
    """Whether NVIDIA's driver has the GPU, and it is of no board that joins its GPUs by NVLink or to the CPU."""
    if read_pci.bound_to(source, address) != _DRIVER or read_pci.is_virtual(source, address):
        return False
    device = read_pci.identity(source, address, "device")
    return isinstance(device, str) and not is_coherent(device) and not has_links_built_in(device)


def _ask(source: Source, addresses: list[str]) -> "dict[str, Any] | Unread":
    answer = source.pci_controls(*addresses)
    if isinstance(answer, Unread) and answer.why in _NOT_ON_TAPE:  # its own detail lists all addresses
        return Unread(answer.why, "the snapshot does not know how PCI functions are set up", answer.question)
    return answer


def control_of(address: str, answer: "Mapping[str, Any] | Unread", iommu: "str | Unread") -> PciControl:
    """One function from the answer about all.

    >>> control_of("0000:1a:00.0", {"0000:1a:00.0": {"acs": 0x1D, "control": 0x2930, "fatal": "0"}}, "identity")
    PciControl(pci='0000:1a:00.0', acs=29, max_read_request=512, max_payload=256, iommu='identity', fatal_errors=0)
    """
    row: Any = answer if isinstance(answer, Unread) else answer.get(address, Unread("error", f"the answer does not name {address}"))
    acs, control, fatal = (_number(row, name, address) for name in ("acs", "control", "fatal"))
    return PciControl(
        pci=address,
        acs=acs,
        max_read_request=_size(control, _REQUEST_BIT, address),
        max_payload=_size(control, _PAYLOAD_BIT, address),
        iommu=iommu,
        fatal_errors=fatal,
    )


def _card(source: Source, address: str) -> str:
    """The physical function of a virtual one, which may have passed its own RDMA device on."""
    target = source.readlink(f"{read_pci.DEVICES}/{address}/physfn")
    return address if isinstance(target, Unread) and target.why == "absent" else need(target).rstrip("/").rpartition("/")[2]


def _has_rdma(source: Source, address: str) -> bool:
    return bool(need(source.listdir(f"{read_pci.DEVICES}/{address}/infiniband", absent=())))


def _iommu(source: Source, address: str) -> "str | Unread":
    """The type of its group, "" if the IOMMU is off and no device has one. Kernels before 4.11 have no such file."""
    target = source.readlink(f"{read_pci.DEVICES}/{address}/iommu_group")
    if isinstance(target, Unread):
        return "" if target.why == "absent" else target
    return then(parse_group(target, address), lambda number: line_in(source, f"{_GROUPS}/{number}/type"))


def parse_group(target: str, address: str) -> "int | Unread":
    """The number of an IOMMU group, from the target of the link in the function's directory.

    >>> parse_group("../../../kernel/iommu_groups/27", "0000:1a:00.0")
    27
    """
    group = target.rstrip("/").rpartition("/")[2]
    return int(group) if _GROUP.fullmatch(group) else Unread("error", f"the IOMMU group of {address} is {target[:80]!r}, wanted a number")


def _number(row: Any, name: str, address: str) -> "int | Unread":
    """Converts a number or its text; the reason if there is none."""
    value = row if isinstance(row, Unread) else row.get(name) if isinstance(row, Mapping) else None
    if isinstance(value, Unread):
        return value
    if isinstance(value, Mapping):
        match value.get("unread"):
            case [str(why), str(detail)] if why in get_args(Why):
                return Unread(_why(why), detail)
    if isinstance(value, str):
        return parse_number(value.strip(), f"{name} of {address}")
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        if name != "fatal" and value == _GONE:
            return Unread("error", f"{address} reads all ones: it no longer answers")
        return value
    return Unread("error", f"{name} of {address} is {value!r:.40}, wanted a number")


def _why(word: str) -> Why:
    known: Iterable[Why] = get_args(Why)
    return next(one for one in known if one == word)


def _size(control: "int | Unread", bit: int, address: str) -> "int | Unread":
    """Bytes, from three bits of the device control register."""
    if isinstance(control, Unread):
        return control
    doubled = control >> bit & 0b111
    if doubled > _MOST_DOUBLED:
        return Unread("error", f"the device control word of {address} is {control:#06x}, which names no size")
    return _SMALLEST_BYTES << doubled
