"""The version of a kubelet: of its package, else as its program prints it."""

import re
from typing import Any

from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import Unread, UnreadError, need, then
from hostagent.domains.runtime.read_places import parse_version
from hostagent.host.source import Source

#: Packages with Kubernetes' own version: OpenShift's have that of OpenShift.
_PACKAGES = ("kubelet",)
_PACKAGED = "/usr/bin/kubelet"
#: Programs that have the kubelet of a distribution, the first that is there; each says its version.
_PROGRAMS = {
    "": ("/usr/bin/kubelet", "/usr/local/bin/kubelet", "/opt/bin/kubelet", "/home/kubernetes/bin/kubelet"),
    "k3s": ("/usr/local/bin/k3s", "/usr/bin/k3s"),
    "rke2": ("/var/lib/rancher/rke2/bin/kubelet",),
    "k0s": ("/var/lib/k0s/bin/kubelet", "/usr/local/bin/k0s"),
}
_OTHERS_WRITE = 0o022
_SNAP = "/snap/microk8s/current/meta/snap.yaml"


def read_version(source: Source, distribution: str, program: str, packages: Any) -> "str | Unread":
    """As ``1.34.2``. `program`: the first word of its command line; `packages`: the installed ones."""
    if distribution == "microk8s":
        text = source.text(_SNAP, keep=Keep("settings", ("version",)), absent="")
        return then(text, lambda one: parse_version(" ".join(re.findall(r"(?m)^version:[ \t]*[\"']?([^\s\"']{1,80})", one))))
    if not distribution and program in ("", "kubelet", _PACKAGED) and not isinstance(packages, Unread):
        mine = next((one for one in packages if one.name in _PACKAGES), None)
        if mine is not None:
            found: str | Unread = mine.upstream
            return found
    place = _roots(source, _program(source, distribution, program))
    if isinstance(place, Unread):
        return place
    answer = source.run(place, "--version", keep=Keep("head", ("4096",)))
    if isinstance(answer, Unread) and answer.why == "absent":
        return Unread("error", f"{place} is there and cannot be run: {answer.detail}", answer.question)
    return then(answer, lambda said: parse_version(said.stdout))


@stops_at_unread
def _roots(source: Source, program: "str | Unread") -> str:
    """A program that only root may change: it, and each directory that leads to it. Links are resolved first."""
    path = need(program)
    real = source.realpath(path)
    if isinstance(real, Unread):
        raise UnreadError(Unread("error", f"{path} is not there: {real.detail}", real.question) if real.why == "absent" else real)
    parts = real.strip("/").split("/")
    for end in range(len(parts) + 1):
        place = "/" + "/".join(parts[:end])
        stat = need(source.stat(place))
        if stat.uid != 0 or stat.mode & _OTHERS_WRITE:
            raise UnreadError(Unread("denied", f"{path} is not run: others than root may change {place}"))
    return real


def _program(source: Source, distribution: str, program: str) -> "str | Unread":
    """A program that exists. That of a distribution's process is no kubelet and prints no kubelet version."""
    if not distribution and program.startswith("/"):
        return program
    for path in _PROGRAMS.get(distribution, ()):
        there = source.exists(path)
        if isinstance(there, Unread):
            return there
        if there:
            return path
    return Unread("error", "no package and no program says the version of the kubelet")
