"""The connection of one request: TLS by the kubeconfig, and closable by another thread."""

# No timeout of a library ends an answer that sends a byte now and then, so the connection is shut down after 10 s.

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any

from hostagent.core.errors import HostagentError
from hostagent.core.escape import visible
from hostagent.core.smallfile import refuse_others
from hostagent.kube.config import Access, Identity, trusted_owners

_SHOWN = 200


class Line:
    """What one request is sent on. No timeout of a library ends an answer of which a byte comes now and then; `end` does."""

    def __init__(self, timeout_s: float) -> None:
        """`timeout_s`: how long nothing may come, from the handshake on."""
        self._timeout_s = timeout_s
        self._guard = threading.Lock()
        self._open: list[socket.socket] = []
        self._is_over = False
        #: Asked before each piece of a request is sent.
        self.may_send: Callable[[], bool] | None = None

    def opened(self, line: socket.socket) -> None:
        """Where the request is sent from now on."""
        line.settimeout(self._timeout_s)
        with self._guard:
            self._open.append(socket.socket(fileno=os.dup(line.fileno())))
        if self._is_over:
            self.end()

    def refuse_unwanted(self) -> None:
        """Raises `HostagentError` where `may_send` says no."""
        if self.may_send and not self.may_send():
            raise HostagentError("the request was not sent: it is not wanted any more", "")

    def end(self) -> None:
        """Shut it down: reads and writes in other threads end with an error."""
        with self._guard:
            self._is_over = True
            for one in self._open:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def forget(self) -> None:
        """The request is over."""
        with self._guard:
            for one in self._open:
                one.close()
            self._open.clear()


def adapter(access: Access, who: Identity, line: Line) -> Any:
    """TLS with the cluster's authority alone, also behind a proxy, and our certificate, which no file has to hold."""
    from requests.adapters import HTTPAdapter

    context = _context(access, who)
    name = access.server_name
    named_tls: dict[str, Any] = {"ssl_context": context, **({"server_hostname": name, "assert_hostname": name} if name else {})}

    class _Adapter(HTTPAdapter):
        def init_poolmanager(self, *args: Any, **named: Any) -> None:
            super().init_poolmanager(*args, **(named | named_tls))
            self.poolmanager.pool_classes_by_scheme = _pools(line)

        def proxy_manager_for(self, proxy: str, **named: Any) -> Any:
            manager = super().proxy_manager_for(proxy, **(named | named_tls))
            manager.pool_classes_by_scheme = _pools(line)
            return manager

        def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
            """By the context alone: requests would add its own list of authorities."""
            conn.cert_reqs = "CERT_REQUIRED"

    return _Adapter()


def _pools(line: Line) -> dict[str, Any]:
    """Of connections that `line` knows."""
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool

    def knowing(pool: Any) -> Any:
        class _Connection(pool.ConnectionCls):  # type: ignore[misc]
            def _new_conn(self) -> Any:
                found = super()._new_conn()
                line.opened(found)
                return found

            def send(self, data: Any) -> Any:
                line.refuse_unwanted()
                return super().send(data)

        return type(pool.__name__, (pool,), {"ConnectionCls": _Connection})

    return {"http": knowing(HTTPConnectionPool), "https": knowing(HTTPSConnectionPool)}


def _context(access: Access, who: Identity) -> ssl.SSLContext:
    try:
        if access.ca:
            refuse_others(access.ca, trusted_owners())
        context = ssl.create_default_context(cafile=access.ca or None, cadata=access.ca_data or None)
        if who.cert_pem:
            holder = os.memfd_create("certificate")
            try:
                os.write(holder, who.cert_pem.encode())
                context.load_cert_chain(f"/proc/self/fd/{holder}", password=b"")  # no prompt for one
            finally:
                os.close(holder)
    except (OSError, ssl.SSLError) as error:
        raise HostagentError(f"the certificates for {access.server} cannot be used: {visible(str(error)[:_SHOWN])}", "") from error
    return context
