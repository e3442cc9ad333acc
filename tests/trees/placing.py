"""Hosts whose kubelet aligns what it gives away: one that has given some, one that is told by flags."""

from pathlib import Path

from tests.trees import clouds, gpus, kubelets, system
from tests.trees.claim import claims
from tests.trees.hosts import hgx_h100
from tests.trees.system import Daemon
from tests.trees.tree import Tree

_GIB, _MIB = 1024**3, 1024**2
#: What kubeReserved, systemReserved and evictionHard take together, in halves.
_RESERVED = 1074 * _MIB
_TAKEN = 256 * _GIB
_ALIGNED = """topologyManagerPolicy: single-numa-node
topologyManagerScope: pod
cpuManagerPolicy: static
cpuManagerPolicyOptions:
  full-pcpus-only: "true"
reservedSystemCPUs: 0,64,128,192
memoryManagerPolicy: Static
reservedMemory:
- numaNode: 0
  limits:
    memory: 1074Mi
- numaNode: 1
  limits:
    memory: 1074Mi
kubeReserved:
  memory: 1Gi
systemReserved:
  memory: 1Gi
evictionHard:
  memory.available: 100Mi"""
_POD = "9d2f1c64-8a0e-4a35-9c0b-2f5d7e1b6a30"


@claims(
    "kubelet.full_node",
    source="Kubernetes, Control Topology, CPU and Memory Management Policies on a node; kubeadm's configuration of the kubelet",
)
def kubeadm_single_numa_node(root: Path) -> Tree:
    """An HGX host whose kubelet gives a pod all from one NUMA node; one pod has the GPUs of the first."""
    tree = hgx_h100(root)
    system.stop(tree, 1201, "kubelet.service")
    kubelets.kubeadm(tree, *_ALIGNED.splitlines())
    ids = [gpus.uuid(minor) for minor in range(len(gpus.HGX))]
    kubelets.give_devices(tree, {"nvidia.com/gpu": ids}, (("train", "nvidia.com/gpu", {0: ids[:4]}),))
    kubelets.keep_cpus(tree, "static", "0-1,18-129,146-255", {_POD: {"train": "2-17,130-145"}})
    blocks = {_POD: {"train": [{"numaAffinity": [0], "type": "memory", "size": _TAKEN}]}}
    kubelets.keep_memory(tree, "Static", {node.id: _state(node.id, node.memory_gib * _GIB) for node in tree.nodes}, blocks)
    return tree


def _state(node: int, total: int) -> dict[str, object]:
    taken = 0 if node else _TAKEN
    left = total - _RESERVED
    table = {"total": total, "systemReserved": _RESERVED, "allocatable": left, "reserved": taken, "free": left - taken}
    none = dict.fromkeys(table, 0)
    memory = {"hugepages-1Gi": none, "hugepages-2Mi": none, "memory": table}
    return {"numberOfAssignments": 0 if node else 1, "memoryMap": memory, "cells": [node]}


_EKS_UNIT = """[Unit]
Description=Kubernetes Kubelet
Documentation=https://github.com/kubernetes/kubernetes
After=containerd.service
Wants=containerd.service

[Service]
Slice=runtime.slice
EnvironmentFile=/etc/eks/kubelet/environment
ExecStart=/usr/bin/kubelet $NODEADM_KUBELET_ARGS

Restart=on-failure
RestartForceExitStatus=SIGPIPE
RestartSec=5
KillMode=process

[Install]
WantedBy=multi-user.target
"""
_EKS_FLAGS = (
    "--node-ip=10.0.42.17", "--cloud-provider=external", "--hostname-override=ip-10-0-42-17.ec2.internal",
    "--config=/etc/kubernetes/kubelet/config.json", "--config-dir=/etc/kubernetes/kubelet/config.json.d",
    "--kubeconfig=/var/lib/kubelet/kubeconfig", "--image-credential-provider-bin-dir=/etc/eks/image-credential-provider",
    "--node-labels=eks.amazonaws.com/nodegroup=gpu,workload=train", "--topology-manager-policy=restricted",
    "--cpu-manager-policy=static", "--system-reserved=cpu=500m,memory=512Mi", "--max-pods=58",
)  # fmt: skip
_EKS_CONFIG = """{
    "kind": "KubeletConfiguration",
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "address": "0.0.0.0",
    "authentication": {
        "x509": {"clientCAFile": "/etc/kubernetes/pki/ca.crt"},
        "webhook": {"enabled": true, "cacheTTL": "2m0s"},
        "anonymous": {"enabled": false}
    },
    "authorization": {"mode": "Webhook", "webhook": {"cacheAuthorizedTTL": "5m0s", "cacheUnauthorizedTTL": "30s"}},
    "cgroupDriver": "systemd",
    "cgroupRoot": "/",
    "clusterDNS": ["172.20.0.10"],
    "clusterDomain": "cluster.local",
    "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%"},
    "featureGates": {"RotateKubeletServerCertificate": true},
    "hairpinMode": "hairpin-veth",
    "kubeReserved": {"cpu": "110m", "ephemeral-storage": "1Gi", "memory": "893Mi"},
    "kubeReservedCgroup": "/runtime",
    "logging": {"flushFrequency": 0, "verbosity": 2, "options": {"json": {"infoBufferSize": "0"}, "text": {"infoBufferSize": "0"}}},
    "maxPods": 110,
    "protectKernelDefaults": true,
    "providerID": "aws:///us-west-2f/i-0b1c2d3e4f5a67890",
    "readOnlyPort": 0,
    "serializeImagePulls": false,
    "serverTLSBootstrap": true,
    "systemReservedCgroup": "/system",
    "tlsCipherSuites": ["TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"]
}
"""
_EKS_DROP_IN = """{
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "topologyManagerScope": "pod",
    "maxPods": 100
}
"""


@claims(source="awslabs/amazon-eks-ami, nodeadm/internal/kubelet and templates/al2023/runtime/rootfs/etc/systemd/system/kubelet.service")
def eks_by_flags(root: Path) -> Tree:
    """EKS's AMI whose user data gives the kubelet flags, which win over its file and its drop-in."""
    tree = clouds.eks_al2023(root)
    system.stop(tree, 1201)
    for name in ("/sys/fs/cgroup/podruntime/kubelet", "/etc/systemd/system/kubelet.service"):
        if tree.at(name).exists():
            tree.remove(name)
    system.unit(tree, "kubelet.service", _EKS_UNIT, directory="/etc/systemd/system")
    tree.write("/etc/eks/kubelet/environment", f"NODEADM_KUBELET_ARGS='{' '.join(_EKS_FLAGS)}'\n")
    tree.write("/etc/kubernetes/kubelet/config.json", _EKS_CONFIG)
    tree.write("/etc/kubernetes/kubelet/config.json.d/00-nodeadm.conf", _EKS_DROP_IN)
    tree.programs["/usr/bin/kubelet", "--version"] = "Kubernetes v1.34.2-eks-ecaa3a6\n"
    system.run(
        tree, Daemon(1201, ("/usr/bin/kubelet", *_EKS_FLAGS), "kubelet.service", started_s=45, cgroup="/runtime.slice/kubelet.service")
    )
    kubelets.keep_cpus(tree, "static", "0-55")
    kubelets.keep_memory(tree)
    return tree


RECIPES = {
    "kubeadm-single-numa-node": kubeadm_single_numa_node,
    "eks-by-flags": eks_by_flags,
}
