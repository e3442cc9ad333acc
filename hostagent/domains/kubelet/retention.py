"""What a tape keeps of a kubelet's files: all keys, the values that its facts are made of, of others the type."""

from hostagent.core.retention import Keep

#: Fields of KubeletConfiguration of which each value stays; of others numbers, truth values and durations do, which the kubelet validates.
FIELDS = (
    "kind", "apiVersion", "topologyManagerPolicy", "topologyManagerScope", "topologyManagerPolicyOptions", "cpuManagerPolicy",
    "cpuManagerPolicyOptions", "cpuManagerReconcilePeriod", "reservedSystemCPUs", "memoryManagerPolicy", "reservedMemory",
    "kubeReserved", "systemReserved", "kubeReservedCgroup", "systemReservedCgroup", "enforceNodeAllocatable", "evictionHard",
    "evictionSoft", "evictionSoftGracePeriod", "evictionMinimumReclaim", "evictionMaxPodGracePeriod",
    "evictionPressureTransitionPeriod", "featureGates", "cgroupsPerQOS", "cgroupRoot", "cgroupDriver", "kubeletCgroups",
    "systemCgroups", "failCgroupV1", "cpuCFSQuota", "cpuCFSQuotaPeriod", "maxPods", "podsPerCore", "containerRuntimeEndpoint",
    "logging", "hairpinMode", "crashLoopBackOff", "imagePullCredentialsVerificationPolicy", "preloadedImagesVerificationAllowlist",
    "qosReserved", "podLogsDir", "containerLogMaxSize", "memoryReservationPolicy", "mergeDefaultEvictionSettings", "userNamespaces",
)  # fmt: skip
CONFIG = Keep("kubelet", FIELDS)
#: Of k3s' and RKE2's own files what they pass on, and which runtime they ask.
DISTRIBUTION = Keep("yaml", ("container-runtime-endpoint", "docker#", "kubelet-arg**", "kubelet-arg+**"))
#: Of device-plugins/kubelet_internal_checkpoint which devices there are and which are given away: what a plug-in answered may hold secrets.
CHECKPOINT = Keep(
    "json",
    (
        "Data/RegisteredDevices/*[]",
        *(f"Data/PodDeviceEntries/{name}" for name in ("ResourceName", "DeviceIDs/*[]", "DeviceIDs[]")),
    ),
)
