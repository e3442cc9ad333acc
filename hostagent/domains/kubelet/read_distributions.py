"""Command lines of kubelets inside Kubernetes distributions, from the distributions' own files.

Sources (2026-11): k3s, pkg/daemons/agent/agent_linux.go and docs, Configuration File; RKE2 docs; canonical/microk8s (args/kubelet).
"""

# k3s and RKE2 pass kubelet-arg on (config.yaml, config.yaml.d; `kubelet-arg+` adds) and have drop-ins below
# agent/etc/kubelet.conf.d. A process called kubelet in their cgroup (RKE2, k0s) is read by its own command line. k0s writes its
# kubelet's configuration only as it starts: not-running while it is stopped. Talos runs its kubelet in a container of containerd:
# not-supported, never absent; MicroShift writes none: not-supported. --data-dir of k3s and RKE2 is that of their containerd.

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from hostagent.core.parsing import Allowance
from hostagent.core.unread import Unread, UnreadError, need
from hostagent.domains.kubelet.read_command import ENVIRONMENT, expanded, parse_flags, parse_words
from hostagent.domains.kubelet.read_processes import KubeletUnit
from hostagent.domains.kubelet.retention import DISTRIBUTION
from hostagent.domains.runtime.tables.versions import KUBELET_SOCKETS
from hostagent.host.source import Source

_RANCHER = {"k3s": "/etc/rancher/k3s/config.yaml", "rke2": "/etc/rancher/rke2/config.yaml"}
_DATA, _DROP_INS = "/var/lib/rancher/{}", "agent/etc/kubelet.conf.d"
_MICROK8S = "/var/snap/microk8s/current/args/kubelet"
_SNAP = {"SNAP": "/snap/microk8s/current", "SNAP_DATA": "/var/snap/microk8s/current", "SNAP_COMMON": "/var/snap/microk8s/common"}
_SEEN = "kubelet"


class Command(NamedTuple):
    """A kubelet's command line, the program first, and the files of a distribution that it is made of."""

    words: tuple[str, ...]
    files: tuple[str, ...]


def command(source: Source, found: KubeletUnit) -> Command:
    """The command line of its process, of its unit, or of the distribution; raises ``UnreadError``."""
    contained = found.distribution and (found.process is None or found.process.name != _SEEN)
    if not contained:
        return Command(need(found.command(source)), ())
    if found.distribution in _RANCHER:
        return _rancher(source, found)
    if found.distribution == "microk8s":
        return _microk8s(source, found)
    if found.distribution in KUBELET_SOCKETS:
        raise UnreadError(Unread("not-supported", f"{found.distribution} makes its kubelet's configuration itself, which is not read"))
    raise UnreadError(Unread("not-running", f"{found.distribution} writes its kubelet's configuration as it starts"))


def _rancher(source: Source, found: KubeletUnit) -> Command:
    """k3s and RKE2: the drop-ins that they write, then the arguments that their own file, and their unit, pass on."""
    path = _RANCHER[found.distribution]
    own = [path, *(one for one in _paths_in(source, f"{path}.d") if one.endswith((".yaml", ".yml")))]
    Allowance(f"files of {found.distribution}", 100).take(len(own))
    passed: list[str] = []
    there: list[str] = []
    for file in own:
        data = source.read(file, keep=DISTRIBUTION)
        if not isinstance(data, Unread):
            there.append(file)
            passed = list(_passed_on(file, data, passed))
        elif data.why != "absent":
            raise UnreadError(data)
    words = need(found.flag_words(source))
    passed += [value for name, value in pairwise(words) if name == "--kubelet-arg"]
    passed += [word.removeprefix("--kubelet-arg=") for word in words if word.startswith("--kubelet-arg=")]
    folder = f"{found.data or _DATA.format(found.distribution)}/{_DROP_INS}"
    drop_ins = [f"--config-dir={folder}"] if need(source.exists(folder)) else []
    return Command((_SEEN, *drop_ins, *(f"--{one.lstrip('-')}" for one in passed)), tuple(there))


def _passed_on(path: str, data: bytes, before: "list[str]") -> Iterator[str]:
    """`kubelet-arg` replaces the list of earlier files, `kubelet-arg+` adds to it."""
    from hostagent.core.yamlfile import YamlError, parse_foreign_yaml  # 16 ms, where there is a file

    try:
        document = parse_foreign_yaml(data)
    except YamlError as error:
        raise UnreadError(Unread("error", f"{path}: {error}"[:300])) from error
    table = document if isinstance(document, dict) else {}
    yield from _texts(table["kubelet-arg"]) if "kubelet-arg" in table else before
    yield from _texts(table.get("kubelet-arg+", []))


def _texts(value: Any) -> "list[str]":
    return [str(one) for one in (value if isinstance(value, list) else [value]) if isinstance(one, str | int)]


def _paths_in(source: Source, directory: str) -> Iterator[str]:
    for name in sorted(need(source.listdir(directory, absent=()))):
        yield f"{directory}/{name}"


def _microk8s(source: Source, found: KubeletUnit) -> Command:
    path = parse_flags(need(found.flag_words(source))).get("--kubelet-args-file", "") or _MICROK8S
    text = source.text(path, keep=ENVIRONMENT)
    if isinstance(text, Unread):
        raise UnreadError(Unread("error", text.detail, text.question) if text.why == "absent" else text)
    lines = (line for line in text.splitlines() if not line.lstrip().startswith("#"))
    return Command((_SEEN, *expanded(parse_words(" ".join(lines)), _SNAP)), (path,))
