"""What is read of the lists of processes and sockets: the kinds and names of `hostagent.snapshot.keeping`."""

from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import processes

#: Of a command line where a configuration is, and where the kubelet asks for containers: flags that are followed by a path.
_PATHS = ("--config", "--config-file", "-c", "--config-dir", "--container-runtime-endpoint")
#: And what dockerd and the kubelet are told in addition to their files: flags that are followed by words of their documents.
_WORDS = ("--add-runtime", "--cgroup-driver", "--default-runtime", "--exec-opt", "--host", "-H")
FLAGS = (*_PATHS, *_WORDS)
#: Of a kubelet: flags that set the fields of its configuration, and those that say where its files are. A path stays for each.
KUBELET_FLAGS = (
    "--config", "--config-dir", "--root-dir", "--container-runtime-endpoint", "--topology-manager-policy", "--topology-manager-scope",
    "--topology-manager-policy-options", "--cpu-manager-policy", "--cpu-manager-policy-options", "--cpu-manager-reconcile-period",
    "--reserved-cpus", "--memory-manager-policy", "--reserved-memory", "--kube-reserved", "--system-reserved", "--kube-reserved-cgroup",
    "--system-reserved-cgroup", "--enforce-node-allocatable", "--eviction-hard", "--eviction-soft", "--eviction-soft-grace-period",
    "--eviction-minimum-reclaim", "--eviction-max-pod-grace-period", "--eviction-pressure-transition-period", "--feature-gates",
    "--cgroups-per-qos", "--cgroup-root", "--cgroup-driver", "--kubelet-cgroups", "--system-cgroups", "--fail-cgroupv1", "--cpu-cfs-quota",
    "--cpu-cfs-quota-period", "--max-pods", "--pods-per-core", "--kubelet-arg", "--kubelet-args-file",
    "--hairpin-mode", "--logging-format", "--container-log-max-size", "--qos-reserved",
)  # fmt: skip
_KUBELETS = tuple(f"{name}*" for name in processes("kubelet"))
PROCESSES = Keep("arguments", (*_PATHS, *(f"{flag}#" for flag in (*_WORDS, *KUBELET_FLAGS) if flag not in _PATHS), "--docker!", *_KUBELETS))
#: Whoever looks for a socket names it.
SOCKETS = Keep("paths")
