"""A host that is no more than what places pods: sockets, GPUs, a kubelet and its configuration. Needs no root."""

from pathlib import Path

from tests.trees import packages, pcibus, serving, system, topology
from tests.trees.pcibus import Place
from tests.trees.tree import Tree

_H100 = (0x10DE, 0x2330, 0x030200)
_CONFIG = """\
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: systemd
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
"""
CONFIG = "/var/lib/kubelet/config.yaml"


def nodes(number: int, *, cpus: int = 64, memory_gib: int = 256) -> tuple[topology.Node, ...]:
    """NUMA nodes with as many CPUs each, the first half of them in the first of two sockets."""
    each = cpus // number
    return tuple(topology.Node(at, f"{at * each}-{at * each + each - 1}", at * 2 // number, memory_gib // number) for at in range(number))


def build(root: Path, *lines: str, numa: tuple[topology.Node, ...] = nodes(2), gpus: int = 8, kubelet: bool = True) -> Tree:
    """Two nodes of 32 CPUs with four GPUs each, unless said; `lines` are more of the kubelet's configuration."""
    tree = Tree(root, kernel="6.8.0-87-generic", driver="")
    system.install_os(tree, "ubuntu2404", "placer")
    system.boot(tree, "placer")
    topology.install(tree, numa)
    for at in range(gpus):
        node = numa[at * len([one for one in numa if one.cpus]) // gpus]
        pcibus.function(tree, f"0000:{16 + at:02x}:00.0", *_H100, driver="nvidia", place=Place("", node.id, node.cpus))
    if kubelet:
        packages.dpkg(tree, {"kubelet": "1.35.0-1.1"})
        serving.kubelet(tree, CONFIG, text=_CONFIG + "".join(f"{line}\n" for line in lines))
    return tree
