"""Which cluster a command talks to: as kubectl chooses it, or the cluster of the pod that it runs in."""

import os
from collections.abc import Callable, Mapping

from hostagent.errors import HostagentError
from hostagent.kube.config import ACCOUNT, Access, in_cluster, kubeconfig

_NEXT = "Give --kubeconfig FILE, or set KUBECONFIG"


def access_to(path: str, context: str, environment: Mapping[str, str] = os.environ, account: str = ACCOUNT) -> Callable[[], Access]:
    """Of `path` (--kubeconfig); else, without `context`, the service account of a pod; else $KUBECONFIG, a list of files; else
    ~/.kube/config. What is returned reads the files anew with each call, because credentials rotate. Both raise ``HostagentError``.
    """
    if path:
        return lambda: kubeconfig(path, context=context)
    if not context and (found := in_cluster(environment, account)):
        return lambda: in_cluster(environment, account) or found
    listed = tuple(filter(None, environment.get("KUBECONFIG", "").split(os.pathsep)))
    paths = listed or (os.path.join(environment.get("HOME", "") or "/nonexistent", ".kube/config"),)
    there = tuple(one for one in paths if os.path.exists(one))
    if not there:
        where = "of KUBECONFIG" if listed else "KUBECONFIG is empty"
        raise HostagentError(f"found no kubeconfig ({where}: {', '.join(paths)}), wanted one", _NEXT)
    return lambda: kubeconfig(*there, context=context)
