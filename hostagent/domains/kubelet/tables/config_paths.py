"""Where to set fields of a KubeletConfiguration on a host without drop-ins, and other differences between hosts.

Sources (read 2026-11): kubernetes.io, "Control CPU Management Policies on the Node" (which changes need another cpu_manager_state) and "Set
Kubelet Parameters Via A Configuration File"; k3s and RKE2, kubelet-arg of their configuration file; microk8s, args/kubelet; k0s,
spec.workerProfiles.
"""

from collections.abc import Mapping

#: By the place of a distribution's own configuration (`hostagent.core.tables.platforms.KUBELET_PLACES`).
WAYS: Mapping[str, str] = {
    "/etc/rancher/k3s": "Write this to a file, and name it in /etc/rancher/k3s/config.yaml (kubelet-arg: config=FILE):",
    "/etc/rancher/rke2": "Write this to a file, and name it in /etc/rancher/rke2/config.yaml (kubelet-arg: config=FILE):",
    "/var/snap/microk8s/current/args": "Write this to a file, and name it in /var/snap/microk8s/current/args/kubelet (--config=FILE):",
    "/etc/k0s": "Set these fields in a worker profile (spec.workerProfiles) of k0s.yaml, which the worker names with --profile:",
}
#: Options of the static CPU policy with which a kubelet refuses the CPUs that its state file says are free.
CPU_STATE_OPTIONS = ("strict-cpu-reservation",)
#: Fields of a manager's policy, and the state file that a kubelet of another policy refuses.
STATE_FILES: Mapping[str, str] = {"cpuManagerPolicy": "cpu_manager_state", "memoryManagerPolicy": "memory_manager_state"}
#: Where a kubelet keeps its state files, by the place of its configuration, where that is not /var/lib/kubelet.
STATE_DIRECTORY: Mapping[str, str] = {
    "/var/snap/microk8s/current/args": "/var/snap/microk8s/common/var/lib/kubelet",
    "/etc/k0s": "/var/lib/k0s/kubelet",
}
