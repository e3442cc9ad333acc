"""Address of an API server and our identity there: a pod's own service account, or a kubeconfig.

Source: Kubernetes, client-go `rest.InClusterConfig` and `clientcmd/api/v1`.

As root, only files that root alone may write are trusted. Tokens, keys and addresses are validated before use: errors name the place,
never the value.
"""

import base64
import contextlib
import json
import math
import os
import subprocess
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from hostagent.core.errors import HostagentError
from hostagent.core.frozen import frozen
from hostagent.core.secret.address import proxy_address, server_address
from hostagent.core.secret.in_use import InUse, token_in
from hostagent.core.smallfile import read_small, reason, refuse_others
from hostagent.core.typed import ShapeError
from hostagent.core.yamlfile import YamlError, parse_foreign_yaml
from hostagent.kube.parts import moment

ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_MAX_BYTES = 1024 * 1024
_NEXT = "See the --help of this command about --kubeconfig"
#: Ways to authenticate that are not supported: a request without them would have another identity.
_NOT_OURS = ("as", "as-groups", "as-uid", "as-user-extra", "auth-provider", "username", "password")
_EXEC_S = 10.0
_SHOWN = 200
_EXEC_VERSIONS = ("client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1")


@frozen
class Exec:
    """A program that gives a token or a certificate."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    version: str


@frozen
class Access:
    """One API server, and our credentials: token or token file, or a program; "" for none. PEM texts, or paths. Where there are
    both the token file counts. ``proxy``: the URL of the one to it; "" for that of the environment. ``namespace``: of the pod or of the
    context, "" where none is named.
    """

    server: str
    ca: str  # a path
    ca_data: str
    server_name: str
    token: str
    token_file: str
    cert: str
    cert_data: str
    key: str
    key_data: str
    program: Exec | None
    proxy: str = ""
    namespace: str = ""


class Identity(NamedTuple):
    """The credentials of one request."""

    token: str
    cert_pem: str  # certificate and key
    expires_at: float = math.inf  # seconds since the epoch, where a program says so


def in_cluster(environment: Mapping[str, str], account: str = ACCOUNT) -> Access | None:
    """A pod's own; None outside of pods. Raises ``HostagentError`` where its variables are no address."""
    host, port = environment.get("KUBERNETES_SERVICE_HOST", ""), environment.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port or not os.path.exists(f"{account}/token"):
        return None
    try:
        server = server_address(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}")
    except ValueError as error:
        raise HostagentError(f"KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT cannot be used: {error}", _NEXT) from None
    namespace = ""
    with contextlib.suppress(OSError, ValueError):
        namespace = read_small(f"{account}/namespace", _MAX_BYTES, trusted_owners()).decode("ascii").strip()
    return Access(server, f"{account}/ca.crt", "", "", "", f"{account}/token", "", "", "", "", None, namespace=namespace)


def kubeconfig(path: str, *more: str, context: str = "") -> Access:
    """Of `context`, else of the current one. Of several files each name counts as the first one has it, and paths in a file are relative
    to it, as for kubectl. Raises ``HostagentError``.
    """
    documents = [(_loaded(one) or {}, os.path.dirname(one)) for one in (path, *more)]
    files = os.pathsep.join((path, *more))
    try:
        return _parsed(documents, context)
    except ValueError as error:
        raise HostagentError(f"the kubeconfig {files} cannot be used: {InUse().without(str(error))[:_SHOWN]}", _NEXT) from None
    except (KeyError, TypeError, StopIteration, AttributeError, ShapeError) as error:
        why = InUse().without(str(error))[: 5 * _SHOWN]  # names of contexts are long
        which = f"the context {context!r:.80}" if context else "a current context"
        raise HostagentError(f"{files} is no kubeconfig with {which}: {why}", _NEXT) from None


def _loaded(path: str) -> Any:
    try:
        return parse_foreign_yaml(read_small(path, _MAX_BYTES, trusted_owners()))
    except (OSError, ValueError) as error:
        raise HostagentError(f"the kubeconfig {path} cannot be used: {_why(error)}", _NEXT) from None  # an error of YAML quotes its line


def trusted_owners() -> Collection[int]:
    """Owners of files that this process trusts."""
    return (0,) if os.geteuid() == 0 else (0, os.geteuid())


#: A part of a kubeconfig, and the folder of its file.
_Part = tuple[Mapping[str, Any], str]


def _parsed(documents: "list[tuple[Any, str]]", asked: str) -> Access:
    name = asked or next(filter(None, (one.get("current-context") for one, _ in documents)), None)
    if name is None:
        raise KeyError("current-context")
    context, _ = _named(documents, name, "context")
    cluster_part = _named(documents, context["cluster"], "cluster")
    user_part = _named(documents, context["user"], "user")
    (cluster, _), (user, users_folder) = cluster_part, user_part
    if cluster.get("insecure-skip-tls-verify"):
        raise ValueError("found insecure-skip-tls-verify, wanted the certificate of the cluster's authority")
    foreign = next((key for key in _NOT_OURS if user.get(key)), "")
    if foreign:
        raise ValueError(f"found a user with {foreign}, wanted a token, tokenFile, client certificate or exec")

    def place(key: str, part: _Part) -> str:
        value = _word(part[0], key)
        return os.path.join(part[1], value) if value else ""

    program = user.get("exec")
    return Access(
        server=_shaped(server_address, cluster, "server"),
        ca=place("certificate-authority", cluster_part),
        ca_data=_decoded(cluster, "certificate-authority-data"),
        server_name=_word(cluster, "tls-server-name"),
        token=_shaped(token_in, user, "token") if user.get("token") else "",
        token_file=place("tokenFile", user_part),
        cert=place("client-certificate", user_part),
        cert_data=_decoded(user, "client-certificate-data"),
        key=place("client-key", user_part),
        key_data=_decoded(user, "client-key-data"),
        program=_program(program, users_folder) if program else None,
        proxy=_shaped(proxy_address, cluster, "proxy-url") if cluster.get("proxy-url") else "",
        namespace=_word(context, "namespace"),
    )


def _word(part: Mapping[str, Any], key: str) -> str:
    """A text, "" where there is none. Raises ``ValueError``."""
    value = part.get(key)
    if value is not None and not isinstance(value, str):
        raise ValueError(f"found something else than a text in {key}")
    return value or ""


def _shaped(shape: Callable[[str], str], part: Mapping[str, Any], key: str) -> str:
    try:
        return shape(_word(part, key))
    except ValueError as error:
        raise ValueError(f"{key}: {error}") from None


def _named(documents: "list[tuple[Any, str]]", name: str, key: str) -> _Part:
    """The first one of that name. Raises ``StopIteration`` with the names that there are."""
    rows = [(row, folder) for document, folder in documents for row in document.get(f"{key}s") or ()]
    for row, folder in rows:
        if row["name"] == name:
            return row[key], folder
    names = ", ".join(sorted(str(row["name"]) for row, _ in rows)) or "none"
    raise StopIteration(f"found no {key} {name!r:.80}, only: {names}")


def _decoded(part: Mapping[str, Any], key: str) -> str:
    try:
        return base64.b64decode(_word(part, key), validate=True).decode("ascii")
    except ValueError:
        raise ValueError(f"{key}: found no PEM in base64") from None


def _program(part: Mapping[str, Any], folder: str) -> Exec:
    version, name = _word(part, "apiVersion"), _word(part, "command")
    if version not in _EXEC_VERSIONS:
        raise ValueError(f"found exec of {version!r:.60}, wanted {' or '.join(_EXEC_VERSIONS)}")
    place = os.path.join(folder, name) if "/" in name else name
    words = part.get("args") or ()
    if not isinstance(words, list | tuple) or not all(isinstance(one, str | int | float) for one in words):
        raise ValueError("found args of exec that are no texts")
    environment = {_word(one, "name"): _word(one, "value") for one in part.get("env") or ()}
    return Exec((place, *map(str, words)), environment, version)


def identity(access: Access) -> Identity:
    """Read anew: tokens and certificates rotate. Raises ``HostagentError``."""
    if access.program:
        return _asked(access.program)
    token = _token(access.token_file) if access.token_file else access.token
    cert, key = access.cert_data or _text(access.cert), access.key_data or _text(access.key)
    return Identity(token, f"{cert}\n{key}\n" if cert else "")


def _token(path: str) -> str:
    try:
        return token_in(read_small(path, _MAX_BYTES, trusted_owners()))
    except (OSError, ValueError) as error:
        raise HostagentError(f"the token of {path} cannot be used: {_why(error)}", _NEXT) from None


def _text(path: str) -> str:
    if not path:
        return ""
    try:
        return read_small(path, _MAX_BYTES, trusted_owners()).decode("ascii")
    except (OSError, UnicodeDecodeError) as error:
        why = "it is no text" if isinstance(error, ValueError) else _why(error)
        raise HostagentError(f"{path} cannot be used: {why}", _NEXT) from None


def _asked(program: Exec) -> Identity:
    """Of the program: five variables of our own environment, and those that the kubeconfig names. It has no terminal."""
    import shutil

    place = shutil.which(program.argv[0])
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "HTTPS_PROXY", "NO_PROXY") if name in os.environ}
    info = {"apiVersion": program.version, "kind": "ExecCredential", "spec": {"interactive": False}}
    environment = {**kept, **program.environment, "KUBERNETES_EXEC_INFO": json.dumps(info)}
    try:
        if place is None:
            raise FileNotFoundError(2, "no such program", program.argv[0])
        refuse_others(place, trusted_owners())
        done = subprocess.run(
            (place, *program.argv[1:]), stdin=subprocess.DEVNULL, capture_output=True, timeout=_EXEC_S, env=environment, check=True
        )
        status = json.loads(done.stdout)["status"]
        cert = _word(status, "clientCertificateData")
        pem = f"{cert}\n{_word(status, 'clientKeyData')}\n" if cert else ""
        token = _shaped(token_in, status, "token") if status.get("token") else ""
        return Identity(token, pem, moment(expires) if (expires := status.get("expirationTimestamp")) else math.inf)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise HostagentError(f"the program {program.argv[0]} of the kubeconfig gives no credential: {_failure(error)}", _NEXT) from None


def _failure(error: Exception) -> str:
    """Without its output, which may be a secret."""
    if isinstance(error, subprocess.CalledProcessError):
        return f"it ended with {error.returncode}"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"no answer in {_EXEC_S:g} s"
    return _why(error) if isinstance(error, OSError) else "its answer is no ExecCredential"


def _why(error: Exception) -> str:
    """Of a `YamlError`, which may quote the line, no more than that."""
    if isinstance(error, OSError):
        return reason(error)
    return f"it is no YAML that is read here (line {error.line})" if isinstance(error, YamlError) else str(error)
