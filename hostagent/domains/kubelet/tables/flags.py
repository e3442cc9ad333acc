"""Flags of the kubelet and the field of KubeletConfiguration that each sets.

Read from the sources of Kubernetes 1.29.6 to 1.37.2 (cmd/kubelet/app/options), 2026-11. A row is the flag, the kind of its value, the
field's path or ``.`` where it sets none, and the minor versions that know it, where not all do.
"""

# `kubelet --help` of 1.35.4 has the same flags, and the same alpha and beta gates.

#: What a flag takes: s text, b true or false, i32 i64 u32 whole numbers, d a duration, q a quantity, ip an address, sl words and commas,
#: ms ``key=value`` pairs, mn one pair per use, mb pairs of true and false, ml ``signal<value`` pairs, mm ``key:value`` pairs,
#: rm reservations of memory, rt taints, x what is not looked at.
FLAGS = """
address ip address; allowed-unsafe-sysctls sl allowedUnsafeSysctls; anonymous-auth b authentication.anonymous.enabled;
application-metrics-count-limit x . -36; authentication-token-webhook b authentication.webhook.enabled;
authentication-token-webhook-cache-ttl d authentication.webhook.cacheTTL; authorization-mode s authorization.mode;
authorization-webhook-cache-authorized-ttl d authorization.webhook.cacheAuthorizedTTL;
authorization-webhook-cache-unauthorized-ttl d authorization.webhook.cacheUnauthorizedTTL; boot-id-file x . -36;
bootstrap-kubeconfig s .; cert-dir s .; cgroup-driver s cgroupDriver; cgroup-root s cgroupRoot; cgroups-per-qos b cgroupsPerQOS;
client-ca-file s authentication.x509.clientCAFile; cloud-config s . -33; cloud-provider s .; cluster-dns sl clusterDNS;
cluster-domain s clusterDomain; config s .; config-dir s .; container-hints x . -36;
container-log-max-files i32 containerLogMaxFiles; container-log-max-size s containerLogMaxSize;
container-runtime-endpoint s containerRuntimeEndpoint; containerd x . -36; containerd-namespace x . -36;
contention-profiling b enableContentionProfiling; cpu-cfs-quota b cpuCFSQuota; cpu-cfs-quota-period d cpuCFSQuotaPeriod;
cpu-manager-policy s cpuManagerPolicy; cpu-manager-policy-options mn cpuManagerPolicyOptions;
cpu-manager-reconcile-period d cpuManagerReconcilePeriod; enable-controller-attach-detach b enableControllerAttachDetach;
enable-debugging-handlers b enableDebuggingHandlers; enable-load-reader x . -36; enable-server b enableServer;
enforce-node-allocatable sl enforceNodeAllocatable; event-burst i32 eventBurst; event-qps i32 eventRecordQPS;
event-storage-age-limit x . -36; event-storage-event-limit x . -36; eviction-hard ml evictionHard;
eviction-max-pod-grace-period i32 evictionMaxPodGracePeriod; eviction-minimum-reclaim ms evictionMinimumReclaim;
eviction-pressure-transition-period d evictionPressureTransitionPeriod; eviction-soft ml evictionSoft;
eviction-soft-grace-period ms evictionSoftGracePeriod; exit-on-lock-contention b .; experimental-allocatable-ignore-eviction b .;
experimental-mounter-path s .; fail-cgroupv1 b failCgroupV1 31-; fail-swap-on b failSwapOn; feature-gates mb featureGates;
file-check-frequency d fileCheckFrequency; global-housekeeping-interval x . -36; hairpin-mode s hairpinMode;
healthz-bind-address ip healthzBindAddress; healthz-port i32 healthzPort; help b .; hostname-override s .;
housekeeping-interval x .; http-check-frequency d httpCheckFrequency; image-credential-provider-bin-dir s .;
image-credential-provider-config s .; image-gc-high-threshold i32 imageGCHighThresholdPercent;
image-gc-low-threshold i32 imageGCLowThresholdPercent; image-service-endpoint s imageServiceEndpoint;
iptables-drop-bit i32 iptablesDropBit -30; iptables-masquerade-bit i32 iptablesMasqueradeBit -30;
keep-terminated-pod-volumes b . -30; kernel-memcg-notification b kernelMemcgNotification; kube-api-burst i32 kubeAPIBurst;
kube-api-content-type s contentType; kube-api-qps i32 kubeAPIQPS; kube-reserved ms kubeReserved;
kube-reserved-cgroup s kubeReservedCgroup; kubeconfig s .; kubelet-cgroups s kubeletCgroups;
local-storage-capacity-isolation b localStorageCapacityIsolation; lock-file s .; log-cadvisor-usage x . -36; log-flush-frequency d .;
log-json-info-buffer-size q .; log-json-split-stream b .; log-text-info-buffer-size q . 30-; log-text-split-stream b . 30-;
logging-format s .; machine-id-file x . -36; make-iptables-util-chains b makeIPTablesUtilChains; manifest-url s staticPodURL;
manifest-url-header mm staticPodURLHeader; max-open-files i64 maxOpenFiles; max-pods i32 maxPods; maximum-dead-containers i32 .;
maximum-dead-containers-per-container i32 .; memory-manager-policy s memoryManagerPolicy; minimum-container-ttl-duration d .;
minimum-image-ttl-duration d imageMinimumGCAge; node-ip s .; node-labels ms .; node-status-max-images i32 nodeStatusMaxImages;
node-status-update-frequency d nodeStatusUpdateFrequency; oom-score-adj i32 oomScoreAdj; pod-cidr s podCIDR;
pod-infra-container-image s . -34; pod-manifest-path s staticPodPath; pod-max-pids i64 podPidsLimit; pods-per-core i32 podsPerCore;
port i32 port; protect-kernel-defaults b protectKernelDefaults; provider-id s providerID; qos-reserved ms qosReserved;
read-only-port i32 readOnlyPort; register-node b registerNode; register-schedulable b . -33;
register-with-taints rt registerWithTaints; registry-burst i32 registryBurst; registry-qps i32 registryPullQPS;
reserved-cpus s reservedSystemCPUs; reserved-memory rm reservedMemory; resolv-conf s resolvConf; root-dir s .;
rotate-certificates b rotateCertificates; rotate-server-certificates b serverTLSBootstrap; runonce b runOnce; runtime-cgroups s .;
runtime-request-timeout d runtimeRequestTimeout; seccomp-default b .; serialize-image-pulls b serializeImagePulls;
storage-driver-buffer-duration x . -36; storage-driver-db x . -36; storage-driver-host x . -36; storage-driver-password x . -36;
storage-driver-secure x . -36; storage-driver-table x . -36; storage-driver-user x . -36;
streaming-connection-idle-timeout d streamingConnectionIdleTimeout; sync-frequency d syncFrequency; system-cgroups s systemCgroups;
system-reserved ms systemReserved; system-reserved-cgroup s systemReservedCgroup; tls-cert-file s tlsCertFile;
tls-cipher-suites sl tlsCipherSuites; tls-min-version s tlsMinVersion; tls-private-key-file s tlsPrivateKeyFile;
topology-manager-policy s topologyManagerPolicy; topology-manager-policy-options mn topologyManagerPolicyOptions -30;
topology-manager-policy-options ms topologyManagerPolicyOptions 31-; topology-manager-scope s topologyManagerScope; v u32 .;
version b .; vmodule x .; volume-plugin-dir s volumePluginDir; volume-stats-agg-period d volumeStatsAggPeriod;
"""

#: Flags of one letter.
SHORT = {"h": "help", "v": "v"}
