"""What a recording keeps of a kubelet's files: all keys, the values that facts need, and only the type of others."""

from hostagent.core.retention import Keep

#: Fields of KubeletConfiguration with every value kept; of others only numbers, booleans and durations, which the kubelet validates.
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
#: Of k3s' and RKE2's own files: kubelet arguments and the runtime.
DISTRIBUTION = Keep("yaml", ("container-runtime-endpoint", "docker#", "kubelet-arg**", "kubelet-arg+**"))
#: Of device-plugins/kubelet_internal_checkpoint: the devices and allocations; a plug-in's answer may hold secrets.
CHECKPOINT = Keep(
    "json",
    (
        "Data/RegisteredDevices/*[]",
        *(f"Data/PodDeviceEntries/{name}" for name in ("ResourceName", "DeviceIDs/*[]", "DeviceIDs[]")),
    ),
)
