"""Fields of KubeletConfiguration kubelet.config.k8s.io/v1beta1 and their types, by minor version.

Read from the sources of Kubernetes 1.29.6 to 1.37.2 (k8s.io/kubelet/config/v1beta1 and the structures it uses), 2026-11. A row is the
field, its type, and the minor versions that know it, where not all do. Types: s text, b true or false, i32 i64 u32 whole numbers,
f a number, d a duration, td a duration or nanoseconds, t a time, q a quantity, ``:Name`` a structure, ``[]`` a list of, ``{}`` a map of;
``*`` keeps null apart from empty.
"""

ROOT = "KubeletConfiguration"

STRUCTURES = {
    "KubeletConfiguration": """
kind s; apiVersion s; enableServer *b; staticPodPath s; podLogsDir s 30-; syncFrequency d; fileCheckFrequency d;
httpCheckFrequency d; staticPodURL s; staticPodURLHeader {[]s}; address s; port i32; readOnlyPort i32; tlsCertFile s;
tlsPrivateKeyFile s; tlsCipherSuites []s; tlsCurvePreferences []i32 36-; tlsMinVersion s; rotateCertificates b; serverTLSBootstrap b;
authentication :KubeletAuthentication; authorization :KubeletAuthorization; registryPullQPS *i32; registryBurst i32;
imagePullCredentialsVerificationPolicy s 33-; preloadedImagesVerificationAllowlist []s 33-; eventRecordQPS *i32; eventBurst i32;
enableDebuggingHandlers *b; enableContentionProfiling b; healthzPort *i32; healthzBindAddress s; oomScoreAdj *i32; clusterDomain s;
clusterDNS []s; streamingConnectionIdleTimeout d; nodeStatusUpdateFrequency d; nodeStatusReportFrequency d;
nodeLeaseDurationSeconds i32; imageMinimumGCAge d; imageMaximumGCAge d; imageGCHighThresholdPercent *i32;
imageGCLowThresholdPercent *i32; volumeStatsAggPeriod d; kubeletCgroups s; systemCgroups s; cgroupRoot s; cgroupsPerQOS *b;
cgroupDriver s; cpuManagerPolicy s; singleProcessOOMKill *b 32-; cpuManagerPolicyOptions {s}; cpuManagerReconcilePeriod d;
memoryManagerPolicy s; topologyManagerPolicy s; topologyManagerScope s; topologyManagerPolicyOptions {s}; qosReserved {s};
runtimeRequestTimeout d; hairpinMode s; maxPods i32; podCIDR s; podPidsLimit *i64; resolvConf *s; runOnce b; cpuCFSQuota *b;
cpuCFSQuotaPeriod *d; nodeStatusMaxImages *i32; maxOpenFiles i64; contentType s; kubeAPIQPS *i32; kubeAPIBurst i32;
serializeImagePulls *b; maxParallelImagePulls *i32; evictionHard {s}; evictionSoft {s}; evictionSoftGracePeriod {s};
evictionPressureTransitionPeriod d; evictionMaxPodGracePeriod i32; evictionMinimumReclaim {s}; mergeDefaultEvictionSettings *b 33-;
podsPerCore i32; enableControllerAttachDetach *b; protectKernelDefaults b; makeIPTablesUtilChains *b; iptablesMasqueradeBit *i32;
iptablesDropBit *i32; featureGates {b}; failSwapOn *b; memorySwap :MemorySwapConfiguration; containerLogMaxSize s;
containerLogMaxFiles *i32; containerLogMaxWorkers *i32 30-; containerLogMonitorInterval *d 30-;
configMapAndSecretChangeDetectionStrategy s; systemReserved {s}; kubeReserved {s}; reservedSystemCPUs s;
showHiddenMetricsForVersion s; systemReservedCgroup s; kubeReservedCgroup s; enforceNodeAllocatable []s; allowedUnsafeSysctls []s;
defaultPodSysctls {s} 37-; volumePluginDir s; providerID s; kernelMemcgNotification b; logging :LoggingConfiguration;
enableSystemLogHandler *b; enableSystemLogQuery *b; shutdownGracePeriod d; shutdownGracePeriodCriticalPods d;
shutdownGracePeriodByPodPriority []:ShutdownGracePeriodByPodPriority; crashLoopBackOff :CrashLoopBackOffConfig 32-;
reservedMemory []:MemoryReservation; enableProfilingHandler *b; enableDebugFlagsHandler *b; seccompDefault *b;
memoryThrottlingFactor *f; memoryReservationPolicy s 36-; registerWithTaints []:Taint; registerNode *b;
tracing *:TracingConfiguration; localStorageCapacityIsolation *b; containerRuntimeEndpoint s; imageServiceEndpoint s;
failCgroupV1 *b 31-; userNamespaces *:UserNamespaces 33-;
""",
    "UserNamespaces": """
idsPerPod *i64 33-;
""",
    "TracingConfiguration": """
endpoint *s; samplingRatePerMillion *i32;
""",
    "Taint": """
key s; value s; effect s; timeAdded *t;
""",
    "MemoryReservation": """
numaNode i32; limits {q};
""",
    "CrashLoopBackOffConfig": """
maxContainerRestartPeriod *d 32-;
""",
    "ShutdownGracePeriodByPodPriority": """
priority i32; shutdownGracePeriodSeconds i64;
""",
    "LoggingConfiguration": """
format s; flushFrequency td; verbosity u32; vmodule []:VModuleItem; options :FormatOptions;
""",
    "FormatOptions": """
text :TextOptions 30-; json :JSONOptions;
""",
    "JSONOptions": """
splitStream b; infoBufferSize q;
""",
    "TextOptions": """
splitStream b 30-; infoBufferSize q 30-;
""",
    "VModuleItem": """
filePattern s; verbosity u32;
""",
    "MemorySwapConfiguration": """
swapBehavior s;
""",
    "KubeletAuthorization": """
mode s; webhook :KubeletWebhookAuthorization;
""",
    "KubeletWebhookAuthorization": """
cacheAuthorizedTTL d; cacheUnauthorizedTTL d;
""",
    "KubeletAuthentication": """
x509 :KubeletX509Authentication; webhook :KubeletWebhookAuthentication; anonymous :KubeletAnonymousAuthentication;
""",
    "KubeletAnonymousAuthentication": """
enabled *b;
""",
    "KubeletWebhookAuthentication": """
enabled *b; cacheTTL d;
""",
    "KubeletX509Authentication": """
clientCAFile s;
""",
}
