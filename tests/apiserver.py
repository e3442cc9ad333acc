"""A small API server over TLS, its keys, and a kubeconfig for it."""

import contextlib
import http.server
import json
import socket
import ssl
import subprocess
import threading

from tests.real.conftest import need_real


def make_keys(folder):
    """A server's certificate and a client's, each its own authority."""
    openssl = need_real("openssl", "apt-get install openssl")
    for name in ("server", "client"):
        asked = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1"]
        subprocess.run(
            [openssl, "req", *asked, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.crt"], check=True, capture_output=True
        )
    return folder


class Api:
    """Answers each request with the next of `answers` (code, headers, body), the last for ever, and keeps what was asked. Headers that are
    None do not end; the code None is no answer. `keeps`: connections stay open (HTTP/1.1).
    """

    def __init__(self, keys, *answers, keeps=False):
        self.answers, self.asked, self.methods, self.lines, api = list(answers), [], [], [], self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1" if keeps else "HTTP/1.0"

            def do_PATCH(self):
                size = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(size)) if size else None
                peer = self.connection.getpeercert()
                api.asked.append((self.path, dict(self.headers), body, dict(one[0] for one in peer["subject"]) if peer else {}))
                api.methods.append(self.command)
                api.lines.append(self.connection)
                code, headers, given = api.answers.pop(0) if len(api.answers) > 1 else api.answers[0]
                self.close_connection = self.close_connection or code is None or callable(given)
                if code is None:
                    return
                self.send_response(code)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                if callable(given):
                    self.end_headers() if headers is not None else self.flush_headers()
                    given(self.wfile)
                    return
                data = given if isinstance(given, bytes) else json.dumps(given).encode()
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_PATCH  # noqa: N815

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(keys / "server.crt", keys / "server.key")
        context.load_verify_locations(keys / "client.crt")
        context.verify_mode = ssl.CERT_OPTIONAL
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.url = f"https://127.0.0.1:{self.server.server_port}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.thread.start()
        return self

    def drop(self):
        """Closes every connection."""
        for one in self.lines:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __exit__(self, *_):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def config(folder, api, user, **cluster):
    """A kubeconfig for that user."""
    path = folder / "kubeconfig"
    document = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": api.url, "certificate-authority": str(folder / "ca.crt"), **cluster}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    return path


def program(folder, text):
    path = folder / "credential"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": "./credential", "env": [{"name": "WHO", "value": "us"}]}}
