"""What a kubelet says of its devices by gRPC: GetAllocatableResources and List of podresources v1, in the worker of its lane.

Its answers name pods and containers; only resources, device ids, NUMA nodes and which devices are given away leave this module.
Fields: k8s.io/kubelet, pkg/apis/podresources/v1/api.proto.
"""

import os
import socket
import stat
from contextlib import closing
from functools import partial
from typing import Any

from hostagent.facts.unread import Unread
from hostagent.knowledge import daemons
from hostagent.knowledge.runtimes import KUBELET_ROOTS
from hostagent.source.believed import believed
from hostagent.source.files import Files, unread
from hostagent.source.lane import CALL_S, LOAD_S, Ask
from hostagent.source.lanes.podresources import LOADING
from hostagent.source.paths import Root
from hostagent.source.process import Host, Process
from hostagent.source.protowire import parse_fields, signed

_SOCKET = "pod-resources/kubelet.sock"
_QUESTION = ("podresources", "list")
_SERVICE = "/v1.PodResourcesLister"
_NOT_INSTALLED = Unread("not-supported", "grpcio is not installed: install hostagent[podresources]")
_MOST_BYTES = 4 * 1024 * 1024
#: Bytes of /proc/<pid>/comm, and of what SO_PEERCRED answers: process, user and group.
_COMM_BYTES, _CREDENTIALS = 64, 12


def answer_all(ask: Ask, root: Root) -> "Unread | None":
    """Ask the one question. Returns why it could not be asked, if so."""
    place: str | Unread = ask((), "looking for the socket of podresources", partial(_place, root))
    if isinstance(place, Unread):
        return place
    grpc: Any = ask((), LOADING, _load, LOAD_S)
    if isinstance(grpc, Unread):
        return grpc
    ask(_QUESTION, "podresources", partial(_asked, grpc, root, place))
    return None


def _load() -> Any:
    try:
        import grpc
    except ImportError:
        return _NOT_INSTALLED
    return grpc


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
        seen = os.fstat(place)
        os.close(place)
        if not stat.S_ISSOCK(seen.st_mode) or seen.st_uid != 0:
            return Unread("error", f"{path} is no socket of root's")
        why = root.untrusted(path.rpartition("/")[0])
        return Unread("denied", f"{path}: {why}") if why else path
    return Unread("absent", "no kubelet has a socket of podresources")


def _asked(grpc: Any, root: Root, path: str) -> "dict[str, Any] | Unread":
    folder, _, name = path.rpartition("/")
    try:
        place = root.open(folder, os.O_PATH | os.O_DIRECTORY)
    except OSError as error:
        return unread(error, folder)
    try:
        address = f"/proc/self/fd/{place}/{name}"  # below any root, and never longer than a socket's path may be
        stranger = _stranger(root, address, path)
        return stranger if stranger is not None else _told(grpc, address)
    finally:
        os.close(place)


def _stranger(root: Root, address: str, path: str) -> "Unread | None":
    """Why who listens there is not believed to be a kubelet."""
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        probe.settimeout(CALL_S / 4)
        try:
            probe.connect(address)
        except TimeoutError:
            return Unread("timeout", f"{path}: nobody accepts the connection")
        except ConnectionRefusedError:
            return Unread("absent", f"{path}: nobody listens")
        except OSError as error:
            return unread(error, path)
        credentials = probe.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS)
    pid, uid = (int.from_bytes(credentials[at : at + 4], "little") for at in (0, 4))
    return None if uid == 0 and _is_kubelet(root, pid) else Unread("denied", f"{path}: process {pid} is not believed to be a kubelet")


def _is_kubelet(root: Root, pid: int) -> bool:
    host = Host(root)
    comm = Files(root).read(f"/proc/{pid}/comm", str(_COMM_BYTES)) if pid else b""
    name = comm.decode("utf-8", "replace").strip() if isinstance(comm, bytes) else ""
    if name not in daemons.processes("kubelet"):
        return False
    try:
        unit = believed(Process(host, pid, name), daemons.services_of(name), has_systemd=host.first == "systemd")
    except ProcessLookupError:
        return False
    return unit is not None and not isinstance(unit, Unread)


def _told(grpc: Any, address: str) -> "dict[str, Any] | Unread":
    """Two calls within the second of the question, one after the other on one connection."""
    options = (("grpc.max_receive_message_length", _MOST_BYTES), ("grpc.enable_http_proxy", 0), ("grpc.enable_retries", 0))
    try:
        with grpc.insecure_channel(f"unix:{address}", options=options) as channel:
            answers = [
                channel.unary_unary(f"{_SERVICE}/{name}", None, None)(b"", timeout=CALL_S / 3)
                for name in ("GetAllocatableResources", "List")
            ]
        return {"devices": parse_allocatable(answers[0]), "allocated": parse_list(answers[1])}
    except grpc.RpcError as error:
        code = error.code() if hasattr(error, "code") else None
        late = code == grpc.StatusCode.DEADLINE_EXCEEDED
        unknown = code == grpc.StatusCode.UNIMPLEMENTED
        why = "timeout" if late else "not-supported" if unknown else "error"
        return Unread(why, f"podresources: {getattr(code, 'name', error)}"[:200])  # type: ignore[arg-type]
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
