"""Calls of gRPC with an empty message, over a connected socket and without TLS: HTTP/2 by the library h2.

Source: the gRPC project, "gRPC over HTTP2". grpcio would take 80 ms and 22 MiB for them, and starts threads.
"""

import socket
import time
from collections.abc import Sequence

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset, TrailersReceived
from h2.exceptions import H2Error
from h2.settings import SettingCodes, Settings

#: Not compressed, and no bytes; of every message the first bytes are whether it is compressed, and its length.
_NOTHING = b"\0\0\0\0\0"
_HEAD = len(_NOTHING)
#: Bytes that are taken from the socket at a time.
_PIECE = 64 * 1024
#: The statuses of gRPC, and UNKNOWN.
_STATUSES, _UNKNOWN = frozenset(map(str, range(17))), 2


class GrpcError(Exception):
    """``code`` is the server's status (grpc/status: 4 late, 12 unimplemented); 2 also for what is no gRPC at all."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


def call_each(connection: socket.socket, methods: Sequence[str], ends: float, most_bytes: int) -> list[bytes]:
    """The message that answers each method (``/package.Service/Method``), asked one after the other.

    `ends`: on the monotonic clock. `most_bytes`: of all that the server may send. Raises ``GrpcError``, ``TimeoutError``, ``OSError``.
    """
    calls = _Calls(connection, ends, most_bytes)
    try:
        return [calls.call(one) for one in methods]
    except H2Error as error:
        raise GrpcError(_UNKNOWN, f"no HTTP/2: {type(error).__name__}") from error


class _Calls:
    def __init__(self, connection: socket.socket, ends: float, most_bytes: int) -> None:
        self._socket, self._ends, self._left = connection, ends, most_bytes
        self._http = H2Connection(H2Configuration(client_side=True, header_encoding=None))
        ours = {SettingCodes.ENABLE_PUSH: 0, SettingCodes.INITIAL_WINDOW_SIZE: most_bytes}
        self._http.local_settings = Settings(client=True, initial_values=ours)
        self._http.initiate_connection()
        self._http.increment_flow_control_window(most_bytes)

    def call(self, method: str) -> bytes:
        stream = self._http.get_next_available_stream_id()
        timeout_ms = max(1, int((self._ends - time.monotonic()) * 1000))
        headers = {
            ":method": "POST",
            ":scheme": "http",
            ":path": method,
            ":authority": "localhost",
            "te": "trailers",
            "content-type": "application/grpc",
            "grpc-timeout": f"{timeout_ms}m",
        }
        self._http.send_headers(stream, [*headers.items()])
        self._http.send_data(stream, _NOTHING, end_stream=True)
        received: dict[bytes, bytes] = {}
        data = bytearray()
        while not self._receive(stream, received, data):
            pass
        return _message(received, bytes(data))

    def _receive(self, stream: int, received: dict[bytes, bytes], data: bytearray) -> bool:
        """Handles the next events; True at the end of the stream."""
        for event in self._http.receive_data(self._exchanged()):
            if isinstance(event, ConnectionTerminated):
                raise GrpcError(_UNKNOWN, f"the server ends the connection: {_name(event.error_code)}")
            if isinstance(event, (ResponseReceived, TrailersReceived)) and event.stream_id == stream:
                received.update((bytes(name), bytes(value)) for name, value in event.headers)
            elif isinstance(event, DataReceived) and event.stream_id == stream:
                data += event.data
            elif isinstance(event, StreamReset) and event.stream_id == stream:
                raise GrpcError(_UNKNOWN, f"the server ends the call: {_name(event.error_code)}")
            elif isinstance(event, StreamEnded) and event.stream_id == stream:
                return True
        return False

    def _exchanged(self) -> bytes:
        """Send the pending bytes, and receive some of the answer."""
        self._wait()
        self._socket.sendall(self._http.data_to_send())
        self._wait()
        piece = self._socket.recv(_PIECE)
        self._left -= len(piece)
        if not piece or self._left < 0:
            raise GrpcError(_UNKNOWN, "the answer is too long" if piece else "the server closed the connection")
        return piece

    def _wait(self) -> None:
        left_s = self._ends - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)


def _name(code: object) -> object:
    """Name of an HTTP/2 error; its number where it has none."""
    return getattr(code, "name", code)


def _message(received: dict[bytes, bytes], data: bytes) -> bytes:
    """Raises ``GrpcError``."""
    if received.get(b":status") != b"200":
        raise GrpcError(_UNKNOWN, f"HTTP status {received.get(b':status', b'').decode('latin-1')!r}"[:200])
    status = received.get(b"grpc-status", b"").decode("latin-1")
    if status != "0":
        code = int(status) if status in _STATUSES else _UNKNOWN
        raise GrpcError(code, received.get(b"grpc-message", b"").decode("latin-1") or f"found grpc-status {status!r}, wanted 0"[:200])
    if len(data) < _HEAD or data[0] or int.from_bytes(data[1:_HEAD], "big") != len(data) - _HEAD:
        raise GrpcError(_UNKNOWN, f"found {len(data)} bytes, wanted one message")
    return data[_HEAD:]
