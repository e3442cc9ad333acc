"""The parts of processes and sockets that are kept: kinds and names of `hostagent.snapshot.keeping`."""

from hostagent.core.retention import Keep
from hostagent.core.tables.daemons import processes

#: Flags with a path: of a configuration, or of the kubelet's runtime endpoint.
_PATHS = ("--config", "--config-file", "-c", "--config-dir", "--container-runtime-endpoint")
#: Flags with which dockerd and the kubelet override their files: their values are documented keywords.
_WORDS = ("--add-runtime", "--cgroup-driver", "--default-runtime", "--exec-opt", "--host", "-H")
FLAGS = (*_PATHS, *_WORDS)
#: Kubelet flags that set fields of its configuration, and those with paths of its files.
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
#: Of CRI-O (crio(8)): short forms, and the image store. Asked on their own, since older recordings lack them.
CRIO_FLAGS = Keep("arguments", ("-d", "-r", "--imagestore"))
#: Sockets by the paths that a reader asks for.
SOCKETS = Keep("paths")
