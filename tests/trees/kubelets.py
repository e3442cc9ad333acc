"""Kubelets as kubeadm and the clouds set them up, and what they have given away.

Sources: kubernetes/release, cmd/krel/templates (kubelet.service, 10-kubeadm.conf); kubeadm, app/componentconfigs/kubelet.go and phases/kubelet;
Kubernetes, pkg/kubelet/cm/devicemanager/checkpoint and the state packages of the CPU and memory managers.
"""

import base64
import json

from hostagent.domains.kubelet.state_file import cpu_checksum, memory_checksum
from tests.trees import system
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, Tree

ROOT = "/var/lib/kubelet"
_UNIT = """[Unit]
Description=kubelet: The Kubernetes Node Agent
Documentation=https://kubernetes.io/docs/
Wants=network-online.target
After=network-online.target

[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10

[Install]
WantedBy=multi-user.target
"""
_DROP_IN = """# Note: This dropin only works with kubeadm and kubelet v1.11+
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
# This is a file that "kubeadm init" and "kubeadm join" generates at runtime, populating the KUBELET_KUBEADM_ARGS variable dynamically
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
# This is a file that the user can use for overrides of the kubelet args as a last resort. Preferably, the user should use
# the .NodeRegistration.KubeletExtraArgs object in the configuration files instead. KUBELET_EXTRA_ARGS should be sourced from this file.
EnvironmentFile=-/etc/default/kubelet
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
"""
#: As `kubeadm join` writes it: what is 0s stands for the default.
KUBEADM = """apiVersion: kubelet.config.k8s.io/v1beta1
authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
kind: KubeletConfiguration
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
resolvConf: /run/systemd/resolve/resolv.conf
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
"""
_ENDPOINT = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"
_FLAGS = f'KUBELET_KUBEADM_ARGS="{_ENDPOINT} --pod-infra-container-image=registry.k8s.io/pause:3.10.1"\n'
_ARGV = (
    "/usr/bin/kubelet", "--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf", "--kubeconfig=/etc/kubernetes/kubelet.conf",
    f"--config={ROOT}/config.yaml", _ENDPOINT, "--pod-infra-container-image=registry.k8s.io/pause:3.10.1",
)  # fmt: skip
#: Secrets that a device plug-in may answer with reach no tape.
_ANSWER = base64.b64encode(b"\n*\n\x16NVIDIA_VISIBLE_DEVICES\x12\x10hunter2-of-a-pod").decode()


def kubeadm(tree: Tree, *more: str) -> None:
    """kubeadm's unit, drop-in, flags and configuration, with these lines of configuration added; running."""
    tree.program("/usr/bin/kubelet")
    system.unit(tree, "kubelet.service", _UNIT)
    tree.write("/usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf", _DROP_IN)
    tree.write(f"{ROOT}/config.yaml", KUBEADM + "".join(f"{line}\n" for line in more))
    tree.write(f"{ROOT}/kubeadm-flags.env", _FLAGS)
    system.run(tree, Daemon(1201, _ARGV, "kubelet.service", started_s=45))


def evict_nothing(tree: Tree) -> Tree:
    """Takes the thresholds of free space out: a process that judges a tree as it lies here asks this machine's own volume."""
    tree.write(f"{ROOT}/config.yaml", f"{tree.text(f'{ROOT}/config.yaml')}evictionHard: {{}}\n")
    return tree


def keep_cpus(tree: Tree, policy: str, shared: str, taken: "dict[str, dict[str, str]] | None" = None) -> None:
    """cpu_manager_state: the policy, the CPUs of all, and those of containers by pod and name."""
    entries = taken or {}
    told = {"policyName": policy, "defaultCpuSet": shared, **({"entries": entries} if entries else {})}
    _write(tree, "cpu_manager_state", {**told, "checksum": cpu_checksum(policy, shared, entries)})


def keep_memory(
    tree: Tree, policy: str = "None", nodes: "dict[int, object] | None" = None, taken: "dict[str, object] | None" = None
) -> None:
    """memory_manager_state: the policy, the nodes and the blocks of containers, in the kubelet's own shape."""
    state, entries = {str(node): value for node, value in (nodes or {}).items()}, taken or {}
    told = {"policyName": policy, "machineState": state, **({"entries": entries} if entries else {})}
    _write(tree, "memory_manager_state", {**told, "checksum": memory_checksum(policy, state, entries)})


def give_devices(tree: Tree, registered: "dict[str, list[str]]", taken: "tuple[tuple[str, str, dict[int, list[str]]], ...]" = ()) -> None:
    """The device managers' checkpoint: ids by resource; (container, resource, ids by NUMA node) of what containers have."""
    entries = [
        {
            "PodUID": f"6c0c1f0e-5d6f-4c5e-9a53-{number:012x}",
            "ContainerName": container,
            "ResourceName": resource,
            "DeviceIDs": {str(node): ids for node, ids in by_node.items()},
            "AllocResp": _ANSWER,
        }
        for number, (container, resource, by_node) in enumerate(taken, 1)
    ]
    data = {"PodDeviceEntries": entries or None, "RegisteredDevices": registered}
    _write(tree, "device-plugins/kubelet_internal_checkpoint", {"Data": data, "Checksum": 2905684813})


def _write(tree: Tree, name: str, document: "dict[str, object]") -> None:
    tree.write(f"{ROOT}/{name}", json.dumps(document, separators=(",", ":")), mode=0o600, time=BOOTED_AT + 60)
