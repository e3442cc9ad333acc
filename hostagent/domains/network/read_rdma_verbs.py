"""ibv_query_port(3): the active MTU of a port is not in sysfs. Runs in the worker only, after sysfs was read.

The function answers the numbers of struct ibv_port_attr (infiniband/verbs.h): state 4 is active, an MTU n is 128 << n bytes.
"""

import ctypes
import os
from collections.abc import Sequence
from functools import partial
from typing import Any

from hostagent.core.unread import Unread
from hostagent.domains.network.read_rdma_library import LIBRARY, Loader
from hostagent.host.files import Files, unread
from hostagent.host.paths import Root
from hostagent.sandbox.worker_spec import ENTERING, LOAD_S, LOADING, SANDBOX, Ask, Rights

#: More than struct ibv_port_attr has in any release; the fields read here are its first.
_ATTRIBUTES = ctypes.c_uint32 * 64
_MAX_DEVICES = 4096
#: Results and arguments (libibverbs, verbs.h); `ibv_reg_dmabuf_mr` is never called.
_FUNCTIONS: dict[str, tuple[Any, ...]] = {
    "ibv_get_device_list": (ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int)),
    "ibv_get_device_name": (ctypes.c_char_p, ctypes.c_void_p),
    "ibv_open_device": (ctypes.c_void_p, ctypes.c_void_p),
    "ibv_query_port": (ctypes.c_int, ctypes.c_void_p, ctypes.c_uint8, ctypes.POINTER(ctypes.c_uint32)),
    "ibv_close_device": (ctypes.c_int, ctypes.c_void_p),
}

Port = tuple[str, str]  # device and number


def answer_all(ask: Ask, files: Files, root: Root, rights: Rights, ports: Sequence[Port]) -> None:
    """Ask each port, in the sandbox. A device without any of `ports` is not opened."""
    loader = Loader(files, root, rights)
    limits = ask(SANDBOX, ENTERING, loader.enter, LOAD_S)
    loaded = limits if isinstance(limits, Unread) else ask((), f"{LOADING} {LIBRARY}", loader.load, LOAD_S)
    found = loaded if isinstance(loaded, Unread) else _library(*loaded)
    ask(("rdma", "library"), "ibv_reg_dmabuf_mr", lambda: found)
    devices: Any = found if isinstance(found, Unread) else ask((), "ibv_get_device_list", Verbs(loaded[1]).devices)
    for name in dict.fromkeys(name for name, _ in ports):
        _ask_device(ask, devices, name, [number for of, number in ports if of == name])


def _library(path: str, library: ctypes.CDLL) -> "dict[str, Any] | Unread":
    missing = [name for name in _FUNCTIONS if not hasattr(library, name)]
    if missing:
        return Unread("error", f"{path} has no {missing[0]}")
    return {"path": path, "dmabuf": hasattr(library, "ibv_reg_dmabuf_mr")}


def _ask_device(ask: Ask, devices: "dict[str, Device] | Unread", name: str, numbers: Sequence[str]) -> None:
    """Open, query, close."""
    none = Unread("absent", f"libibverbs knows no device {name}")
    device = devices if isinstance(devices, Unread) else devices.get(name, none)
    context = device if isinstance(device, Unread) else ask((), f"ibv_open_device {name}", device.open)
    for number in numbers:
        query = (lambda: context) if isinstance(context, Unread) else partial(device.query, context, int(number))
        ask(("rdma", "verbs", name, number), f"ibv_query_port {name}:{number}", query)
    if not isinstance(context, Unread):
        ask((), f"ibv_close_device {name}", partial(device.close, context))


class Device:
    """A device that libibverbs lists."""

    def __init__(self, library: ctypes.CDLL, handle: int, name: str) -> None:
        self._library = library
        self._handle = handle
        self._name = name

    def open(self) -> "int | Unread":
        ctypes.set_errno(0)
        context: int | None = self._library.ibv_open_device(self._handle)
        return context or _failed(f"ibv_open_device {self._name}", ctypes.get_errno())

    def query(self, context: int, number: int) -> "dict[str, int] | Unread":
        attributes = _ATTRIBUTES()
        problem = self._library.ibv_query_port(context, number, attributes)
        if problem:
            return _failed(f"ibv_query_port {self._name}:{number}", problem if problem > 0 else ctypes.get_errno())
        return {"state": attributes[0], "max_mtu": attributes[1], "active_mtu": attributes[2]}

    def close(self, context: int) -> None:
        self._library.ibv_close_device(context)


class Verbs:
    """The library, with the types of what is called."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        for name, (result, *arguments) in _FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    def devices(self) -> "dict[str, Device] | Unread":
        """Devices by name. The list is kept: devices are valid as long as it."""
        ctypes.set_errno(0)
        count = ctypes.c_int(0)
        listed = self._library.ibv_get_device_list(ctypes.byref(count))
        if not listed:
            return _failed("ibv_get_device_list", ctypes.get_errno())
        handles = [listed[index] for index in range(min(count.value, _MAX_DEVICES)) if listed[index]]
        names = [(self._library.ibv_get_device_name(handle) or b"").decode("utf-8", "replace") for handle in handles]
        return {name: Device(self._library, handle, name) for name, handle in zip(names, handles, strict=True)}


def _failed(call: str, number: int) -> Unread:
    """A device that the library lists but cannot open is an error, not "absent"."""
    found = unread(OSError(number, os.strerror(number) if number else "failed without an errno"), call)
    return Unread("error", found.detail) if found.why in ("absent", "not-supported") else found
