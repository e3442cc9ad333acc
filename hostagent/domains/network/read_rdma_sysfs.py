"""RDMA devices and their ports by sysfs (Linux kernel, ABI/stable/sysfs-class-infiniband), in the RDMA worker."""

# EINVAL of a slot, and zeros, are an empty slot; EINVAL of gid_attrs/ndevs is a GID without an interface (InfiniBand). Each other
# errno is in the answer. A port that was listed and is gone when it is read is an error, not absent: absent would skip the checks
# of a card that fell off. The PCI function is the last address on the path of `device` (subfunctions are below their card), ""
# where the kernel has `parent` (rxe) or no `device`. The node comes from infiniband_verbs/*/ibdev, because several devices may
# share a function's directory.
# Product data (VPD) of a ConnectX-7 are read only where a GPU of HGX B200 or B300 is on PCI: with SW_MNG in them the function
# manages an NVLink switch, and its ports are not read.

import errno
import os
import re
import stat
from collections.abc import Iterable
from functools import partial
from typing import Any

from hostagent.core.tables.nvlink_fabric import has_hidden_switches
from hostagent.core.unread import Unread
from hostagent.domains.network import read_rdma_verbs
from hostagent.host.attributes import Attributes
from hostagent.host.files import Files, unread
from hostagent.host.paths import Root
from hostagent.sandbox.worker_spec import PRODUCT_DATA, VPD_S, Ask, Rights

_PCI, _DEVICES, _VERBS = "/sys/bus/pci/devices", "/sys/class/infiniband", "/sys/class/infiniband_verbs"
_ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", re.ASCII)
_NVIDIA = "0x10de"
#: ConnectX-7, the only card that bridges to NVLink 5 switches: its product data then has this mark.
_BRIDGE, _MARK, _VPD_BYTES = "0x1021", b"SW_MNG", 64 * 1024
#: Of a device that is listed, of a table, and bytes of one attribute: sysfs has at most a page.
_MAX_DEVICES, _MAX_SLOTS, _PAGE = 4096, 65536, 4096
_EMPTY_GID = "0000:0000:0000:0000:0000:0000:0000:0000"
_DEVICE_WORDS = ("node_type", "fw_ver", "board_id", "hca_type", "node_guid")
_PORT_WORDS = ("state", "phys_state", "rate", "link_layer", "lid", "sm_lid")

#: A text, or ``{"unread": [why, detail]}``.
Value = Any


def answer_all(ask: Ask, files: Files, root: Root, rights: Rights) -> "Unread | None":
    """Ask about every device, identity first, then about every port. Returns why nothing could be asked, or None."""
    names = ask(("rdma", "devices"), f"list {_DEVICES}", partial(files.list, _DEVICES))
    if isinstance(names, Unread):
        return names
    reader = Reader(files, root)
    ask((), f"list {_VERBS}", reader.look_around)
    ports: list[tuple[str, str]] = []
    for name in names[:_MAX_DEVICES]:
        manages: Value = ask((), f"device id of {name}", partial(reader.may_be_bridge, name))
        if manages is True:
            manages = ask((), f"{PRODUCT_DATA} {name}", partial(reader.manages_nvlink, name), VPD_S)
        found = ask(("rdma", "device", name), f"device {name}", partial(reader.device, name, manages))
        if not isinstance(found, Unread) and isinstance(found["ports"], list):
            ports += [(name, number) for number in found["ports"]]
    for name, number in ports:
        ask(("rdma", "port", name, number), f"port {name}:{number}", partial(reader.port, name, number))
    read_rdma_verbs.answer_all(ask, files, root, rights, ports)
    return None


class Reader:
    """Reads one host's devices."""

    def __init__(self, files: Files, root: Root) -> None:
        self._files = files
        self._root = root
        self._nodes: dict[str, str] | Unread = {}
        self._on_baseboard: Value = False

    def look_around(self) -> None:
        """Reads what all devices share: names of their nodes, and whether a GPU has switches that PCI does not show."""
        names = self._files.list(_VERBS)
        if isinstance(names, Unread):
            self._nodes = {} if names.why == "absent" else names
        else:
            self._nodes = {str(self._word(f"{_VERBS}/{name}/ibdev")): name for name in names if name.startswith("uverbs")}
        self._on_baseboard = self._has_hidden_switches()

    def _has_hidden_switches(self) -> Value:
        names = self._files.list(_PCI)
        if isinstance(names, Unread):
            return False if names.why == "absent" else _plain(names)
        for name in names:
            vendor = self._word(f"{_PCI}/{name}/vendor", absent="")
            device = self._word(f"{_PCI}/{name}/device", absent="") if vendor == _NVIDIA else ""
            lost = next((one for one in (vendor, device) if not isinstance(one, str)), None)
            if lost is not None:
                return lost
            if device and has_hidden_switches(device):
                return True
        return False

    def may_be_bridge(self, name: str) -> Value:
        """Whether to read product data, which are slow, need root, and are meaningless on other hosts."""
        device = self._word(f"{_DEVICES}/{name}/device/device", absent="")
        if not isinstance(device, str):
            return device
        return self._on_baseboard if device == _BRIDGE else False

    def manages_nvlink(self, name: str) -> Value:
        """Whether a ConnectX-7 manages an NVLink 5 switch, by its product data."""
        data = self._files.read(f"{_DEVICES}/{name}/device/vpd", str(_VPD_BYTES))
        if isinstance(data, Unread):
            return False if data.why == "absent" else _plain(data)
        return _MARK in data

    def device(self, name: str, manages: Value) -> "dict[str, Any] | Unread":
        directory = f"{_DEVICES}/{name}"
        if not self._root.exists(directory):
            return Unread("error", f"{name} went while it was read")
        pci = self._function(directory)
        of = self._link(f"{_PCI}/{pci}/physfn") if isinstance(pci, str) and pci else ""
        is_function = isinstance(pci, str) and bool(pci)
        return {
            "pci": pci,
            "driver": self._link(f"{_PCI}/{pci}/driver") if is_function else pci,
            "virtual_of": of if is_function else pci,
            "manages_nvlink": manages,
            **{word: self._word(f"{directory}/{word}") for word in _DEVICE_WORDS},
            "node": _plain(self._nodes) if isinstance(self._nodes, Unread) else self._nodes.get(name, ""),
            "ports": self._numbers(f"{directory}/ports") if manages is False else [],
            "link_policy": self._policy(pci, of) if isinstance(of, str) and of else {},
            "netdevs": self._netdevs(f"{directory}/device/net"),
        }

    def port(self, name: str, number: str) -> "dict[str, Any] | Unread":
        directory = f"{_DEVICES}/{name}/ports/{number}"
        if not self._root.exists(directory):
            return Unread("error", f"{name}:{number} went while it was read")
        return {
            **{word: self._word(f"{directory}/{word}") for word in _PORT_WORDS},
            "pkeys": self._pkeys(f"{directory}/pkeys"),
            "gids": self._gids(directory),
            "link_downed": self._word(f"{directory}/counters/link_downed"),
            "traffic_class": self._word(f"{_DEVICES}/{name}/tc/{number}/traffic_class"),
        }

    def _function(self, directory: str) -> Value:
        """Address of the PCI function, also of an auxiliary device below one. A software device has none (rxe), or names its parent."""
        if self._root.exists(f"{directory}/parent"):
            return ""
        place = self._files.realpath(f"{directory}/device")
        if isinstance(place, Unread):
            return "" if place.why == "absent" else _plain(place)
        return next((one for one in reversed(place.split("/")) if _ADDRESS.fullmatch(one)), "")

    def _netdevs(self, directory: str) -> Value:
        names = self._files.list(directory)
        if isinstance(names, Unread):
            return [] if names.why == "absent" else _plain(names)
        return [[name, self._count(f"{directory}/{name}/dev_port")] for name in names]

    def _policy(self, pci: str, physical: str) -> dict[str, Value]:
        """The link policy of a virtual function, set on its physical one, where a link's name has its number."""
        names = self._files.list(f"{_PCI}/{physical}")
        listed = [] if isinstance(names, Unread) else [name for name in names if name.startswith("virtfn")]
        number = next((name[6:] for name in listed if self._link(f"{_PCI}/{physical}/{name}") == pci), "")
        return {"1": self._word(f"{_PCI}/{physical}/sriov/{number}/policy")} if number else {}

    def _gids(self, directory: str) -> Value:
        slots = self._slots(f"{directory}/gids", _EMPTY_GID)
        if isinstance(slots, Unread):
            return _plain(slots)
        attributes = f"{directory}/gid_attrs"
        return [
            [index, gid, self._word(f"{attributes}/types/{index}"), self._word(f"{attributes}/ndevs/{index}", invalid="")]
            for index, gid in slots
        ]

    def _pkeys(self, directory: str) -> Value:
        slots = self._slots(directory, "0x0000")
        return _plain(slots) if isinstance(slots, Unread) else [list(one) for one in slots]

    def _slots(self, directory: str, empty: str) -> "list[tuple[int, str]] | Unread":
        """By index, without those that are empty: some drivers report them as EINVAL, others as zeros."""
        names = self._files.list(directory)
        if isinstance(names, Unread):
            return names
        try:
            with Attributes(self._root, directory) as table:
                return _filled(table, _sorted(names)[:_MAX_SLOTS], empty)
        except (OSError, ValueError) as error:
            return unread(error, directory)

    def _numbers(self, directory: str) -> Value:
        names = self._files.list(directory)
        if isinstance(names, Unread):
            return [] if names.why == "absent" else _plain(names)
        return _sorted(names)

    def _link(self, path: str) -> Value:
        """The last part of a link's text, "" where there is none."""
        target = self._files.readlink(path)
        if isinstance(target, Unread):
            return "" if target.why == "absent" else _plain(target)
        return target.rstrip("/").rpartition("/")[2]

    def _count(self, path: str) -> Value:
        word = self._word(path)
        return int(word) if isinstance(word, str) and word.isdecimal() and word.isascii() and len(word) < 6 else word

    def _word(self, path: str, *, invalid: "str | None" = None, absent: "str | None" = None) -> Value:
        """`invalid` is the value for EINVAL, where the kernel means "none" by it; `absent` that for a missing file."""
        try:
            return self._text(path)
        except (OSError, ValueError) as error:
            if invalid is not None and isinstance(error, OSError) and error.errno == errno.EINVAL:
                return invalid
            found = unread(error, path)
            return absent if absent is not None and found.why == "absent" else _plain(found)

    def _text(self, path: str) -> str:
        """Raises ``OSError``, ``ValueError``. Kept cheap: a host has hundreds of such files."""
        if "\ufffd" in path:
            raise ValueError("a name that is not UTF-8")
        place = self._root.open(path, os.O_PATH)
        try:
            if not stat.S_ISREG(os.fstat(place).st_mode):
                raise OSError(errno.EIO, "no file")
            descriptor = self._root.reopen(place, path)
        finally:
            os.close(place)
        try:
            return os.read(descriptor, _PAGE).decode("utf-8", "replace").strip()
        finally:
            os.close(descriptor)


def _filled(table: Attributes, indexes: Iterable[str], empty: str) -> "list[tuple[int, str]] | Unread":
    found: list[tuple[int, str]] = []
    for index in indexes:
        try:
            text = table.text(index)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOENT):
                return unread(error, f"{table.path}/{index}")
        else:
            if text and text != empty:
                found.append((int(index), text))
    return found


def _sorted(names: Iterable[str]) -> list[str]:
    """The names that are numbers, as the kernel writes them, in order."""
    return sorted((name for name in names if name.isdecimal() and name.isascii() and len(name) < 6), key=int)


def _plain(answer: Unread) -> dict[str, list[str]]:
    return {"unread": [answer.why, answer.detail]}
