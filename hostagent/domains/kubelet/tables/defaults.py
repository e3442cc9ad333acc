"""The kubelet's defaults, policies, policy options and thresholds, by minor version.

Read from the sources of Kubernetes 1.29.6 to 1.37.2 (pkg/kubelet/apis/config, pkg/kubelet/cm, pkg/kubelet/eviction), 2026-11.
"""

from typing import NamedTuple

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"
#: Other kinds that its decoder knows: it reads them and cannot use them.
OTHER_KINDS = frozenset({"CredentialProviderConfig", "SerializedNodeConfigSource", "ImagePullIntent", "ImagePulledRecord"})

#: A field, its default, and the minor versions. Durations in milliseconds.
DEFAULTS: tuple[tuple[str, object, str], ...] = (
    ("nodeLeaseDurationSeconds", 40, ""),
    ("eventRecordQPS", 50, ""), ("eventBurst", 100, ""), ("kubeAPIQPS", 50, ""), ("kubeAPIBurst", 100, ""),
    ("registryPullQPS", 5, ""), ("registryBurst", 10, ""),
    ("port", 10250, ""), ("healthzPort", 10248, ""), ("oomScoreAdj", -999, ""),
    ("syncFrequency", 60_000, ""), ("imageMinimumGCAge", 120_000, ""),
    ("imageGCHighThresholdPercent", 85, ""), ("imageGCLowThresholdPercent", 80, ""),
    ("iptablesMasqueradeBit", 14, ""), ("iptablesDropBit", 15, ""), ("nodeStatusMaxImages", 50, ""), ("maxOpenFiles", 1_000_000, ""),
    ("hairpinMode", "promiscuous-bridge", ""), ("configMapAndSecretChangeDetectionStrategy", "Watch", ""),
    ("enableSystemLogHandler", True, ""),
    ("containerLogMaxSize", "10Mi", ""), ("containerLogMaxFiles", 5, ""), ("containerLogMaxWorkers", 1, "30-"),
    ("containerLogMonitorInterval", 10_000, "30-"),
    ("podLogsDir", "/var/log/pods", "30-"), ("memoryThrottlingFactor", 0.9, "-36"), ("memoryReservationPolicy", "None", "36-"),
    ("cgroupsPerQOS", True, ""), ("cgroupDriver", "cgroupfs", ""), ("failCgroupV1", False, "31-34"), ("failCgroupV1", True, "35-"),
    ("topologyManagerPolicy", "none", ""), ("topologyManagerScope", "container", ""),
    ("cpuManagerPolicy", "none", ""), ("cpuManagerReconcilePeriod", 10_000, ""), ("cpuCFSQuota", True, ""), ("cpuCFSQuotaPeriod", 100, ""),
    ("memoryManagerPolicy", "None", ""), ("maxPods", 110, ""), ("evictionPressureTransitionPeriod", 300_000, ""),
    ("enforceNodeAllocatable", ["pods"], ""), ("mergeDefaultEvictionSettings", False, "33-"),
    ("containerRuntimeEndpoint", "unix:///run/containerd/containerd.sock", ""),
)  # fmt: skip

#: Thresholds for a file without any.
EVICTION_HARD = {
    "memory.available": "100Mi", "nodefs.available": "10%", "nodefs.inodesFree": "5%",
    "imagefs.available": "15%", "imagefs.inodesFree": "5%",
}  # fmt: skip
SIGNALS = frozenset(
    (
        "memory.available", "allocatableMemory.available", "pid.available", "nodefs.available", "nodefs.inodesFree",
        "imagefs.available", "imagefs.inodesFree", "containerfs.available", "containerfs.inodesFree",
    )
)  # fmt: skip

TOPOLOGY_POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
TOPOLOGY_SCOPES = ("container", "pod")
HAIRPIN_MODES = ("none", "hairpin-veth", "promiscuous-bridge")
#: Resources that kubeReserved and systemReserved may name.
RESERVABLE = frozenset(("cpu", "memory", "ephemeral-storage", "pid"))
#: NUMA nodes that the topology manager takes without max-allowable-numa-nodes.
MAX_NUMA_NODES = 8
NODE_ALLOCATABLE = ("pods", "system-reserved", "kube-reserved", "none")
#: These too, from `COMPRESSIBLE_SINCE` on.
COMPRESSIBLE = ("pods", "system-reserved", "system-reserved-compressible", "kube-reserved", "kube-reserved-compressible", "none")
COMPRESSIBLE_SINCE = 32
#: From this one on, enforceNodeAllocatable: [none] is accepted without cgroupsPerQOS.
NONE_WITHOUT_QOS_SINCE = 31
#: From this one on, defaults depend on gates, and a gate that cannot be set ends the kubelet there.
DEFAULTS_BY_GATES_SINCE = 32
#: From these on, the numbers of log workers and of log files are checked.
LOG_WORKERS_SINCE, LOG_FILES_SINCE = 30, 33
#: From this one on, MemoryQoS is accepted without memoryThrottlingFactor.
QOS_WITHOUT_FACTOR_SINCE = 37

LABEL_NAMESPACES = ("kubelet.kubernetes.io", "node.kubernetes.io")
LABELS = frozenset(
    (
        "kubernetes.io/hostname", "kubernetes.io/arch", "kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/os",
        "beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
    )
)  # fmt: skip


class Option(NamedTuple):
    """An option of a policy: the minor versions at which it became alpha, beta and stable; 0 where it has not."""

    name: str
    alpha: int
    beta: int
    stable: int


CPU_OPTIONS = (
    Option("full-pcpus-only", 22, 23, 33),
    Option("distribute-cpus-across-numa", 23, 33, 0),
    Option("align-by-socket", 25, 0, 0),
    Option("distribute-cpus-across-cores", 31, 0, 0),
    Option("strict-cpu-reservation", 32, 33, 35),
    Option("prefer-align-cpus-by-uncorecache", 32, 34, 36),
)
#: Pairs of options that do not go together, in the order in which they are looked at.
CPU_OPTIONS_APART = (
    ("full-pcpus-only", "distribute-cpus-across-cores"),
    ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
    ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
)
TOPOLOGY_OPTIONS = (
    Option("prefer-closest-numa-nodes", 26, 28, 32),
    Option("max-allowable-numa-nodes", 31, 31, 35),
)
#: User ids that a pod has to itself, and the minor version from which the kubelet counts whether there are enough.
IDS_PER_POD = 65536
USER_IDS_SINCE = 30

#: Fields that `hostagent.facts.kubelet.KubeletConfig` holds: its name, the name of KubeletConfiguration, how it is shown: s text, i a whole
#: number, b true or false, d a duration, p pairs, l words, m reserved memory.
HELD: tuple[tuple[str, str, str], ...] = (
    ("topology_manager_policy", "topologyManagerPolicy", "s"), ("topology_manager_scope", "topologyManagerScope", "s"),
    ("topology_manager_policy_options", "topologyManagerPolicyOptions", "p"),
    ("cpu_manager_policy", "cpuManagerPolicy", "s"), ("cpu_manager_policy_options", "cpuManagerPolicyOptions", "p"),
    ("cpu_manager_reconcile_period", "cpuManagerReconcilePeriod", "d"), ("reserved_system_cpus", "reservedSystemCPUs", "s"),
    ("memory_manager_policy", "memoryManagerPolicy", "s"), ("reserved_memory", "reservedMemory", "m"),
    ("kube_reserved", "kubeReserved", "p"), ("system_reserved", "systemReserved", "p"),
    ("kube_reserved_cgroup", "kubeReservedCgroup", "s"), ("system_reserved_cgroup", "systemReservedCgroup", "s"),
    ("enforce_node_allocatable", "enforceNodeAllocatable", "l"),
    ("eviction_hard", "evictionHard", "p"), ("eviction_soft", "evictionSoft", "p"),
    ("eviction_soft_grace_period", "evictionSoftGracePeriod", "p"),
    ("eviction_minimum_reclaim", "evictionMinimumReclaim", "p"), ("eviction_max_pod_grace_period", "evictionMaxPodGracePeriod", "i"),
    ("eviction_pressure_transition_period", "evictionPressureTransitionPeriod", "d"), ("feature_gates", "featureGates", "p"),
    ("cgroups_per_qos", "cgroupsPerQOS", "b"), ("cgroup_root", "cgroupRoot", "s"), ("cgroup_driver", "cgroupDriver", "s"),
    ("kubelet_cgroups", "kubeletCgroups", "s"), ("system_cgroups", "systemCgroups", "s"), ("fail_cgroup_v1", "failCgroupV1", "b"),
    ("cpu_cfs_quota", "cpuCFSQuota", "b"), ("cpu_cfs_quota_period", "cpuCFSQuotaPeriod", "d"),
    ("max_pods", "maxPods", "i"), ("pods_per_core", "podsPerCore", "i"), ("container_runtime_endpoint", "containerRuntimeEndpoint", "s"),
)  # fmt: skip


#: Oldest and newest minor version of Kubernetes 1 that the tables were read from.
OLDEST = 29
NEWEST = 37
#: The version that was measured: its program answers the same in `tests/real/test_kubelet_configz.py`.
MEASURED = 35
#: From this one on, drop-ins are merged into the fields of the configuration as they are written; before, into Go's own names for them.
MERGES_BY_NAME = 32
#: Before this one, drop-ins need an environment variable.
DROPINS = 30
DROPINS_VARIABLE = "KUBELET_CONFIG_DROPIN_DIR_ALPHA"
