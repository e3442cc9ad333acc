"""A kubelet's devices by gRPC: GetAllocatableResources and List of podresources v1.

Its answers name pods and containers; only resources, device ids, NUMA nodes and which devices are allocated leave this module.
Fields: k8s.io/kubelet, pkg/apis/podresources/v1/api.proto.
"""

# The first socket below the known roots that is root's in directories of root's is asked; SO_PEERCRED identifies the listener. Judges:
# grpcio's server, and the kubelet with stub device plug-ins (tests/real/test_placement.py).

import os
import socket
import stat
import time
from typing import Any

from hostagent.core.tables import daemons
from hostagent.core.unread import Unread, UnreadError, Why
from hostagent.domains.kubelet.protobuf import parse_fields, signed
from hostagent.domains.runtime.tables.versions import KUBELET_ROOTS
from hostagent.host.files import Files, unread
from hostagent.host.paths import Root
from hostagent.host.process import Host, Process
from hostagent.host.process_trust import trusted_service

#: Seconds for all of it: a healthy kubelet takes some milliseconds.
PATIENCE_S = 1.0
_SOCKET = "pod-resources/kubelet.sock"
_METHODS = ("/v1.PodResourcesLister/GetAllocatableResources", "/v1.PodResourcesLister/List")
_MOST_BYTES = 4 * 1024 * 1024
#: Bytes of /proc/<pid>/comm, and of what SO_PEERCRED answers: process, user and group.
_COMM_BYTES, _CREDENTIALS = 64, 12
#: Statuses of gRPC that say more than that something is wrong (grpc/status).
_WHYS: "dict[int, Why]" = {4: "timeout", 12: "not-supported"}


def ask(root: Root) -> "dict[str, Any] | Unread":
    """Allocatable ``devices`` and ``allocated`` ones, each a list of rows ``[resource, ids, NUMA nodes]``."""
    path = _place(root)
    if isinstance(path, Unread):
        return path
    folder, _, name = path.rpartition("/")
    try:
        place = root.open(folder, os.O_PATH | os.O_DIRECTORY)
    except OSError as error:
        return unread(error, folder)
    try:
        return _asked(root, f"/proc/self/fd/{place}/{name}", path)  # below any root, and never longer than a socket's path may be
    except UnreadError as error:  # the listener could not be identified
        return error.unread
    finally:
        os.close(place)


def _place(root: Root) -> "str | Unread":
    """The first socket that is root's, in directories that only root writes to."""
    for folder in KUBELET_ROOTS:
        path = f"{folder}/{_SOCKET}"
        try:
            place = root.open(path, os.O_PATH, follow=False)
        except (OSError, ValueError) as error:
            found = unread(error, path)
            if found.why == "absent":
                continue
            return found
        status = os.fstat(place)
        os.close(place)
        if not stat.S_ISSOCK(status.st_mode) or status.st_uid != 0:
            return Unread("error", f"{path} is no socket of root's")
        why = root.untrusted(path.rpartition("/")[0])
        return Unread("denied", f"{path}: {why}") if why else path
    return Unread("absent", "no kubelet has a socket of podresources")


def _asked(root: Root, address: str, path: str) -> "dict[str, Any] | Unread":
    """The answer of the listener at `path`, if it is a kubelet."""
    ends = time.monotonic() + PATIENCE_S
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(PATIENCE_S)
        try:
            connection.connect(address)
            stranger = _stranger(root, connection, path)
            return stranger if stranger is not None else _call(connection, ends)
        except (TimeoutError, BlockingIOError):  # the latter: its queue of connections is full
            return Unread("timeout", f"{path}: no answer in {PATIENCE_S:g} s")
        except ConnectionRefusedError:
            return Unread("absent", f"{path}: nobody listens")
        except OSError as error:
            return unread(error, path)


def _stranger(root: Root, connection: socket.socket, path: str) -> "Unread | None":
    """Why the listener is not trusted as a kubelet; None for one that is."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS)
    pid, uid = (int.from_bytes(credentials[at : at + 4], "little") for at in (0, 4))
    return None if uid == 0 and _is_kubelet(root, pid) else Unread("denied", f"{path}: process {pid} is not believed to be a kubelet")


def _is_kubelet(root: Root, pid: int) -> bool:
    host = Host(root)
    comm = Files(root).read(f"/proc/{pid}/comm", str(_COMM_BYTES)) if pid else b""
    name = comm.decode("utf-8", "replace").strip() if isinstance(comm, bytes) else ""
    if name not in daemons.processes("kubelet"):
        return False
    try:
        unit = trusted_service(Process(host, pid, name), daemons.services_of(name), has_systemd=host.first == "systemd")
    except ProcessLookupError:
        return False
    return unit is not None and not isinstance(unit, Unread)


def _call(connection: socket.socket, ends: float) -> "dict[str, Any] | Unread":
    """Raises ``OSError``."""
    from hostagent.domains.kubelet.read_grpc import GrpcError, call_each

    try:
        devices, allocated = call_each(connection, _METHODS, ends, _MOST_BYTES)
        return {"devices": parse_allocatable(devices), "allocated": parse_list(allocated)}
    except GrpcError as error:
        return Unread(_WHYS.get(error.code, "error"), f"podresources: {error}"[:200])
    except ValueError as error:
        return Unread("error", f"podresources: {error}"[:200])


def parse_allocatable(data: bytes) -> "list[list[Any]]":
    """AllocatableResourcesResponse: of each row of devices resource, ids, and NUMA nodes. Raises ``ValueError``."""
    return [_devices(value) for number, value in parse_fields(data) if number == 1 and isinstance(value, bytes)]


def parse_list(data: bytes) -> "list[list[Any]]":
    """ListPodResourcesResponse: the same rows of all containers of all pods. Raises ``ValueError``."""
    return [
        _devices(row)
        for pod in _messages(data, 1)
        for container in _messages(pod, 3)
        for row in _messages(container, 2)
    ]  # fmt: skip


def _messages(data: bytes, wanted: int) -> "list[bytes]":
    return [value for number, value in parse_fields(data) if number == wanted and isinstance(value, bytes)]


def _devices(data: bytes) -> "list[Any]":
    """ContainerDevices."""
    resource = next((value.decode("utf-8", "replace") for value in _messages(data, 1)), "")
    ids = [value.decode("utf-8", "replace") for value in _messages(data, 2)]
    nodes = [_node(node) for topology in _messages(data, 3) for node in _messages(topology, 1)]
    return [resource, ids, nodes]


def _node(data: bytes) -> int:
    """NUMANode; zero is not on the wire."""
    return next((signed(value) for number, value in parse_fields(data) if number == 1 and isinstance(value, int)), 0)
