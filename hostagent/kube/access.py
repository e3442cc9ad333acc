"""Selects the cluster of a command: as kubectl does, or that of its pod."""

import os
from collections.abc import Callable, Mapping

from hostagent.core.errors import HostagentError
from hostagent.kube.config import ACCOUNT, Access, in_cluster, kubeconfig

_NEXT = "Give --kubeconfig FILE, or set KUBECONFIG"


def access_to(path: str, context: str, environment: Mapping[str, str] = os.environ, account: str = ACCOUNT) -> Callable[[], Access]:
    """Of `path` (--kubeconfig); else $KUBECONFIG, a list of files; else, without `context`, the service account of a pod; else
    ~/.kube/config. What is returned reads files that have changed anew, because credentials rotate. Both raise ``HostagentError``.
    """
    if path:
        return _Kubeconfig((path,), context)
    listed = tuple(filter(None, environment.get("KUBECONFIG", "").split(os.pathsep)))
    if not context and not any(map(os.path.exists, listed)) and (found := in_cluster(environment, account)):
        return lambda: in_cluster(environment, account) or found
    paths = listed or (os.path.join(environment.get("HOME", "") or "/nonexistent", ".kube/config"),)
    there = tuple(one for one in paths if os.path.exists(one))
    if not there:
        where = "of KUBECONFIG" if listed else "KUBECONFIG is empty"
        raise HostagentError(f"found no kubeconfig ({where}: {', '.join(paths)}), wanted one", _NEXT)
    return _Kubeconfig(there, context)


def is_at_hand(environment: Mapping[str, str] = os.environ, account: str = ACCOUNT) -> bool:
    """Whether `access_to` without a path finds anything."""
    home = os.path.join(environment.get("HOME", "") or "/nonexistent", ".kube/config")
    in_pod = bool(environment.get("KUBERNETES_SERVICE_HOST")) and os.path.exists(f"{account}/token")
    return in_pod or bool(environment.get("KUBECONFIG")) or os.path.exists(home)


def namespace_of(path: str, context: str, environment: Mapping[str, str] = os.environ, account: str = ACCOUNT) -> str:
    """Of the context that `access_to` finds, or of the pod; "" where none is named, which means default. Raises ``HostagentError``."""
    return access_to(path, context, environment, account)().namespace


class _Kubeconfig:
    """Parsed again when one of its files has changed: that costs as much as the rest of a request."""

    def __init__(self, paths: tuple[str, ...], context: str) -> None:
        self._paths, self._context = paths, context
        self._known: tuple[object, Access] | None = None

    def __call__(self) -> Access:
        state = tuple(_state(path) for path in self._paths)
        if self._known is None or self._known[0] != state or None in state:
            self._known = state, kubeconfig(*self._paths, context=self._context)
        return self._known[1]


def _state(path: str) -> "tuple[int, ...] | None":
    """Marks that change with a file; None where it cannot be read."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns
