"""Feature gates that the kubelet knows, by minor version.

Read from the sources of Kubernetes 1.29.6 to 1.37.2 (pkg/features and the gates of apiserver, apiextensions-apiserver, client-go,
controller-manager and component-base, all of which the kubelet registers), 2026-11. A row is the gate and what holds from a minor version
on: a alpha, b beta, g general, d deprecated, p not yet; 1 on, 0 off by default; L locked to that; ``-`` unknown: setting it is rejected.
"""

import functools
import re
from typing import NamedTuple

GATES = """
APIListChunking 29g1L 33-; APIPriorityAndFairness 29g1L 31-; APIResponseCompression 29b1; APISelfSubjectReview 29g1L 30-;
APIServerIdentity 29b1; APIServerTracing 29b1 34g1L 37-; APIServerWebhookAuthenticationToken 37a0; APIServingWithRoutine 30a0;
AdmissionWebhookMatchConditions 29b1 30g1L 33-; AggregatedDiscoveryEndpoint 29b1 30g1L 33-;
AggregatedDiscoveryRemoveBetaType 33d1 35d1L; AllowDNSOnlyNodeCSR 31d0; AllowInsecureKubeletCertificateSigningRequests 31d0;
AllowOverwriteTerminationGracePeriodSeconds 32d0 35d0L; AllowParsingUserUIDFromCertAuth 33b1; AllowServiceExternalIPs 36g1;
AllowServiceLBStatusOnNonLB 29d0 32d0L 35-; AllowUnsafeMalformedObjectDeletion 32a0 37b1;
AnonymousAuthConfigurableEndpoints 31a0 32b1 34g1L 37-; AnyVolumeDataSource 29b1 33g1L 37-; AppArmor 29b1 31g1L 33-;
AppArmorFields 30b1 31g1L 33-; AtomicFIFO 36b1; AtomicWriteVolumeUserFields 37a0; AuthorizeNodeWithSelectors 31a0 32b1 34g1L 37-;
AuthorizePodWebsocketUpgradeCreatePermission 35b1; AuthorizeWithSelectors 31a0 32b1 34g1L 37-; BtreeWatchCache 32b1 33g1L 37-;
CBORServingAndStorage 32a0; CPUManager 29g1L 33-; CPUManagerPolicyAlphaOptions 29a0; CPUManagerPolicyBetaOptions 29b1;
CPUManagerPolicyOptions 29b1 33g1L; CRDObservedGenerationTracking 35b0 36b1; CRDValidationRatcheting 29a0 30b1 33g1L;
CRIListStreaming 36a0; CSIMigrationAzureFile 29g1L 30-; CSIMigrationPortworx 29b0 31b1 33g1L 36-; CSIMigrationRBD 29d0 31-;
CSINodeExpandSecret 29g1L 31-; CSIServiceAccountTokenSecrets 35b1 36g1L; CSIVolumeHealth 29a0;
ChangeContainerStatusOnKubeletRestart 35d0; ClearingNominatedNodeNameAfterBinding 34a0 35b1; ClientsAllowCARotation 36b1;
ClientsAllowCBOR 32a0; ClientsAllowTLSCacheGC 36b1; ClientsPreferCBOR 32a0;
CloudControllerManagerWatchBasedRoutesReconciliation 35a0; CloudControllerManagerWebhook 29a0; CloudDualStackNodeIPs 29b1 30g1L 32-;
ClusterTrustBundle 29a0 33b0 37g1; ClusterTrustBundleProjection 29a0 33b0 37g1; ComponentFlagz 32a0 36b1;
ComponentSLIs 29b1 32g1L 35-; ComponentStatusz 32a0 36b1; CompositePodGroup 37a0; ConcurrentWatchObjectDecode 31b0 37b1;
ConsistentHTTPGetHandlers 29g1 30g1L 31-; ConsistentListFromCache 29a0 31b1 34g1L 37-;
ConsistentListFromCacheSkipTimeoutFallback 37a0; ConstrainedImpersonation 35a0 36b1; ContainerCheckpoint 29a0 30b1;
ContainerRestartRules 34a0 35b1; ContainerStopSignals 33a0; ContextualLogging 29a0 30b0 33b1;
ControllerManagerReleaseLeaderElectionLockOnExit 36a0; CoordinatedLeaderElection 31a0 33b0;
CronJobsScheduledAnnotation 29b1 32g1L 35-; CrossNamespaceVolumeDataSource 29a0; CustomCPUCFSQuotaPeriod 29a0 36g1;
CustomResourceFieldSelectors 30a0 31b1 32g1L; CustomResourceValidationExpressions 29g1L 31-; DRAAdminAccess 32a0 34b1 36g1L;
DRAConsumableCapacity 34a0 36b1; DRAControlPlaneController 31a0 32-; DRADerivedAttributes 37a0; DRADeviceBindingConditions 34a0 36b1;
DRADeviceCompatibilityGroups 37a0; DRADeviceTaintRules 35a0 36b0 37g1; DRADeviceTaints 33a0 36b1 37g1;
DRAExtendedResource 34a0 36b1 37g1L; DRAFractionalCapacityRange 37b0; DRAListTypeAttributes 36a0; DRANodeAllocatableResources 36a0;
DRAOptionalNodeOperations 37a0; DRAPartitionableDevices 33a0 36b1; DRAPartitionableDevicesType 37a0;
DRAPrioritizedList 33a0 34b1 36g1 37g1L; DRAResourceClaimDeviceStatus 32a0 33b1 37g1L;
DRAResourceClaimGranularStatusAuthorization 36b1; DRAResourcePoolStatus 36a0; DRASchedulerFilterTimeout 34b1;
DRAWorkloadResourceClaims 36a0 37b0; DeclarativeValidation 33b1 36g1L; DeclarativeValidationBeta 36b1;
DeclarativeValidationTakeover 33b0 36d0 37d0L; DefaultHostNetworkHostPortsInPodTemplates 29d0 31-; DefaultPodSysctls 37a0;
DeploymentReplicaSetTerminatingReplicas 33a0 35b1; DetectCacheInconsistency 34b1; DevicePluginCDIDevices 29b1 31g1L 34-;
DisableAllocatorDualWrite 31a0 33b0 34g1 35g1L; DisableCPUQuotaWithExclusiveCPUs 33b1 36d1 37d1L;
DisableCloudProviders 29b1 31g1L 33-; DisableKubeletCloudCredentialProviders 29b1 31g1L 33-;
DisableNodeKubeProxyVersion 29a0 31d0 33d1 36d1L; DynamicResourceAllocation 29a0 32b0 34g1 35g1L; EfficientWatchResumption 29g1L 33-;
ElasticIndexedJob 29b1 31g1L 34-; EmptyDirVolumeMode 37a0; EnvFiles 34a0 35b1; EtcdRangeStream 37b1; EventedPLEG 29a0;
EvictionRequestAPI 37a0; ExcludeAdmissionWebhookVirtualResources 37b1; ExecProbeTimeout 29g1 35g1L; ExpandedDNSConfig 29g1L 30-;
ExperimentalHostUserNamespaceDefaulting 29d0L 30-; ExtendWebSocketsToKubelet 36b1; ExternalServiceAccountTokenSigner 32a0 34b1 36g1L;
GRPCContainerProbeTLS 37a0; GangScheduling 35a0 37-; GenericWorkload 35a0 37b0; GitRepoVolumeDriver 33d0 36d0L;
GracefulNodeShutdown 29b1; GracefulNodeShutdownBasedOnPodPriority 29b1; H2CContainerProbe 37a0;
HPAConfigurableTolerance 33a0 35b1 37g1L; HPAContainerMetrics 29b1 30g1L 32-; HPAGeneration 37b1; HPAOptimizedSelectorStore 37b1;
HPAScaleToZero 29a0 37b1; HonorPVReclaimPolicy 29a0 31b1 33g1L 36-; HostnameOverride 34a0 35b1 37g1L; HugepageAwareEviction 37b1;
IPTablesOwnershipCleanup 29g1L 30-; ImageMaximumGCAge 29a0 30b1 35g1L; ImageVolume 31a0 33b0 35b1 36g1L; ImageVolumeWithDigest 36a0;
InOrderInformers 33b1 36g1L; InOrderInformersBatchProcess 35b1; InPlacePodLevelResourcesVerticalScaling 35a0 36b1;
InPlacePodVerticalScaling 29a0 33b1 35g1L; InPlacePodVerticalScalingAllocatedStatus 32a0 33d0 36-;
InPlacePodVerticalScalingExclusiveCPUs 32a0; InPlacePodVerticalScalingExclusiveMemory 34a0;
InPlacePodVerticalScalingInitContainers 36b1 37g1L; InPlacePodVerticalScalingMemoryBackedVolumes 37a0;
InPlacePodVerticalScalingSchedulerPreemption 37a0; InTreePluginAWSUnregister 29a0 31-; InTreePluginAzureDiskUnregister 29a0 31-;
InTreePluginAzureFileUnregister 29a0 31-; InTreePluginGCEUnregister 29a0 31-; InTreePluginOpenStackUnregister 29a0 31-;
InTreePluginPortworxUnregister 29a0 36-; InTreePluginRBDUnregister 29d0 31-; InTreePluginvSphereUnregister 29a0 31-;
InformerResourceVersion 30a0 35g1; InterPodAffinityHostnameFastPath 37a0; JobBackoffLimitPerIndex 29b1 33g1L 37-;
JobManagedBy 30a0 32b1 35g1L; JobPodFailurePolicy 29b1 31g1L 33-; JobPodReplacementPolicy 29b1 34g1L 37-; JobReadyPods 29g1L 31-;
JobSuccessPolicy 30a0 31b1 33g1L 37-; KMSv1 29d0; KMSv2 29g1L 32-; KMSv2KDF 29g1L 32-;
KubeProxyDrainingTerminatingNodes 29a0 30b1 31g1L 33-; KubeProxyIPVS 37d1; KubeProxyNFTablesLocalhostNodePorts 37a0;
KubeletAllocatedPodsEndpoint 37a0; KubeletCgroupDriverFromCRI 29a0 31b1 34g1L; KubeletCrashLoopBackOffMax 32a0 35b1;
KubeletEnsureSecretPulledImages 33a0 35b1; KubeletFineGrainedAuthz 32a0 33b1 36g1L; KubeletInUserNamespace 29a0 37b1;
KubeletPSI 33a0 34b1 36g1L; KubeletPodResources 29g1L 30-; KubeletPodResourcesDynamicResources 29a0 34b1 36g1L;
KubeletPodResourcesGet 29a0 34b1 36g1L; KubeletPodResourcesGetAllocatable 29g1L 30-; KubeletPodResourcesListUseActivePods 34d1;
KubeletRegistrationGetOnExistsOnly 32d0; KubeletSeparateDiskGC 29a0 31b1; KubeletServiceAccountTokenForCredentialProviders 33a0 34b1;
KubeletTracing 29b1 34g1L; LegacyServiceAccountTokenCleanUp 29b1 30g1L 32-; LegacyServiceAccountTokenTracking 29g1L 30-;
LegacySidecarContainers 33d0 34-; ListFromCacheSnapshot 33a0 34b1; LoadBalancerIPMode 29a0 30b1 32g1L 35-;
LocalStorageCapacityIsolationFSQuotaMonitoring 29a0 31b0; LogarithmicScaleDown 29b1 31g1L 37-; LoggingAlphaOptions 29a0;
LoggingBetaOptions 29b1; ManifestBasedAdmissionControlConfig 36a0 37b1; MatchLabelKeysInPodAffinity 29a0 31b1 33g1L;
MatchLabelKeysInPodTopologySpread 29b1; MatchLabelKeysInPodTopologySpreadSelectorMerge 34b1;
MaxUnavailableStatefulSet 29a0 35b0 37b1; MemoryManager 29b1 32g1L 36-; MemoryQoS 29a0 37b1;
MinDomainsInPodTopologySpread 29b1 30g1L 32-; MinimizeIPTablesRestore 29g1L 30-; MultiCIDRServiceAllocator 29a0 31b0 33g1 34g1L;
MutableCSINodeAllocatableCount 33a0 34b0 35b1 36g1L; MutablePVNodeAffinity 35a0; MutablePodResourcesForSuspendedJobs 35a0 36b1;
MutableSchedulingDirectivesForSuspendedJobs 35a0 36b1; MutatingAdmissionPolicy 30a0 34b0 36g1; NFTablesNetlink 37b1;
NFTablesProxyMode 29a0 31b1 33g1L; NativeHistograms 36a0 37b1; NewVolumeManagerReconstruction 29b1 30g1L 32-;
NodeControllerLeaseCircuitBreaker 37b1; NodeDeclaredFeatures 35a0 36b1 37g1L; NodeInclusionPolicyInPodTopologySpread 29b1 33g1L;
NodeLifecycleConditions 37a0; NodeLogQuery 29a0 30b0 36g1L; NodeOutOfServiceVolumeDetach 29g1L 32-; NodeSwap 29b0 30b1 34g1L;
NominatedNodeNameForExpectation 34a0 35b1; OpenAPIEnums 29b1; OpportunisticBatching 35b1;
OrderedNamespaceDeletion 30b0 33b1 34g1L 37-; PDBUnhealthyPodEvictionPolicy 29b1 31g1L 33-; PLEGOnDemandRelist 36b1 37g1L;
PersistentVolumeClaimUnusedSinceTime 36a0 37b1; PersistentVolumeLastPhaseTransitionTime 29b1 31g1L 33-;
PodAndContainerStatsFromCRI 29a0 37b0; PodCertificateRequest 34a0 35b0 37g1; PodDeletionCost 29b1;
PodDisruptionConditions 29b1 31g1L 34-; PodGroupPreemptionPolicy 37a0; PodHostIPs 29b1 30g1L 32-; PodIndexLabel 29b1 32g1L 35-;
PodLevelResourceManagers 36a0 37b0; PodLevelResources 32a0 34b1; PodLevelResourcesFixDefaulting 37b1;
PodLevelResourcesFixKubeletQOSClass 37b1; PodLifecycleSleepAction 29a0 30b1 34g1L 37-;
PodLifecycleSleepActionAllowZero 32a0 33b1 34g1L 37-; PodLogsQuerySplitStreams 32a0; PodObservedGenerationTracking 33a0 34b1 35g1L;
PodReadyToStartContainersCondition 29b1 37g1L; PodSchedulingReadiness 29b1 30g1L; PodTopologyLabelsAdmission 33a0 35b1;
PodsAPI 36a0 37b1; PortForwardWebsockets 30a0 31b1; PreferSameTrafficDistribution 33a0 34b1 35g1L;
PreventStaticPodAPIReferences 34b1 37-; ProbeHostPodSecurityStandards 34g1L 35-; ProcMountType 29a0 31b0 33b1 36g1L;
ProxyTerminatingEndpoints 29g1L 30-; QOSReserved 29a0; ReadWriteOncePod 29g1L 31-; RecoverVolumeExpansionFailure 29a0 32b1 34g1L;
RecursiveReadOnlyMounts 30a0 31b1 33g1L; ReduceDefaultCrashLoopBackOffDecay 33a0; RelaxedDNSSearchValidation 32a0 33b1 34g1L 37-;
RelaxedEnvironmentVariableValidation 30a0 32b1 34g1L; RelaxedServiceNameValidation 34a0 36b1 37g1L; ReloadKubeletClientCAFile 36b1;
ReloadKubeletServerCertificateFile 31b1; RemainingItemCount 29g1L 33-; RemoteRequestHeaderUID 32a0 33b1; RemoveSelfLink 29g1L 30-;
ResilientWatchCacheInitialization 31b1 34g1L 37-; ResourceHealthStatus 31a0 36b1; ResourceHealthStatusMessage 36b1;
RestartAllContainersOnContainerExits 35a0 36b1; RetryGenerateName 30a0 31b1 32g1L 37-; RotateKubeletServerCertificate 29b1;
RuntimeClassInImageCriApi 29a0; SELinuxChangePolicy 32a0 33b1 36g1L; SELinuxMount 30a0 33b0 37g1;
SELinuxMountReadWriteOncePod 29b1 36g1L; SchedulerAsyncAPICalls 34b0; SchedulerAsyncPreemption 32a0 33b1;
SchedulerPopFromBackoffQ 33b1; SchedulerPreQueueingHints 37a0; SchedulerQueueingHints 29b0 32b1 34g1L 37-;
SecurityContextDeny 29a0 30-; SeparateCacheWatchRPC 29b1 33d0 36d0L; SeparateTaintEvictionController 29b1 34g1L;
ServerSideApply 29g1L 32-; ServerSideFieldValidation 29g1L 32-; ServiceAccountNodeAudienceRestriction 32b0 33b1;
ServiceAccountTokenJTI 29a0 30b1 32g1L; ServiceAccountTokenNodeBinding 29a0 31b1 33g1L;
ServiceAccountTokenNodeBindingValidation 29a0 30b1 32g1L; ServiceAccountTokenPodNodeInfo 29a0 30b1 32g1L;
ServiceCIDRStatusFieldWiping 36d1; ServiceNodePortStaticSubrange 29g1L 31-; ServiceTrafficDistribution 30a0 31b1 33g1L 36-;
ShardedListAndWatch 36a0; SidecarContainers 29b1 33g1L 37-; SizeBasedListCostEstimate 34b1; SizeMemoryBackedVolumes 29b1 32g1L 35-;
SkipReadOnlyValidationGCE 29d1 31-; StableLoadBalancerNodeSet 29b1 30g1L 32-; StaleControllerConsistencyDaemonSet 36b1;
StaleControllerConsistencyHPA 37b1; StaleControllerConsistencyJob 36b1; StaleControllerConsistencyReplicaSet 36b1;
StaleControllerConsistencyStatefulSet 36b1; StatefulSetAutoDeletePVC 29b1 32g1L 35-; StatefulSetRecreateStrategy 37a0;
StatefulSetSemanticRevisionComparison 34b1; StatefulSetStartOrdinal 29b1 31g1L 34-; StorageCapacityScoring 33a0 37b1;
StorageNamespaceIndex 30b1 33d1; StorageVersionAPI 29a0; StorageVersionHash 29b1; StorageVersionMigrator 30a0 35b0 37g1;
StreamingCollectionEncodingToJSON 33b1 34g1L 37-; StreamingCollectionEncodingToProtobuf 33b1 34g1L 37-;
StrictCostEnforcementForVAP 30b0 32g1L 35-; StrictCostEnforcementForWebhooks 30b0 32g1L 35-; StrictIPCIDRValidation 33a0 36b1;
StructuredAuthenticationConfiguration 29a0 30b1 34g1L 37-; StructuredAuthenticationConfigurationEgressSelector 34b1;
StructuredAuthenticationConfigurationJWKSMetrics 35b1; StructuredAuthorizationConfiguration 29a0 30b1 32g1L 36-;
SupplementalGroupsPolicy 31a0 33b1 35g1L; TaintTolerationComparisonOperators 35a0; TokenRequestServiceAccountUIDValidation 34b1;
TopologyAwareHints 29b1 33g1L 36-; TopologyAwareWorkloadScheduling 36a0; TopologyManagerPolicyAlphaOptions 29a0;
TopologyManagerPolicyBetaOptions 29b1; TopologyManagerPolicyOptions 29b1 32g1 36g1L; TranslateStreamCloseWebsocketRequests 29a0 30b1;
UnauthenticatedHTTP2DOSMitigation 29b1; UnknownVersionInteroperabilityProxy 29a0 36b1; UnlockWhileProcessingFIFO 36b1;
UserNamespacesHostNetworkSupport 35a0; UserNamespacesPodSecurityStandards 29a0 35-; UserNamespacesSupport 29a0 30b0 33b1 36g1L;
ValidatingAdmissionPolicy 29b0 30g1L 32-; VolumeAttributesClass 29a0 31b0 34g1 36g1L; VolumeBindMountOptions 37a0;
VolumeCapacityPriority 29a0 33-; VolumeLimitScaling 35a0 37b1; WatchBookmark 29g1L 33-;
WatchCacheInitializationPostStartHook 31b0 36b1 37g1L; WatchFromStorageWithoutResourceVersion 29b0 33d0L 36-;
WatchList 29a0 32b1 33b0 34b1; WatchListClient 30b0 35b1; WatchListCompression 37b1; WebhookRoundTripLoadBalancing 37b1;
WinDSR 29a0 33b1 34g1L; WinOverlay 29b1 34g1L; WindowsCPUAndMemoryAffinity 32a0; WindowsGracefulNodeShutdown 32a0 34b1;
WindowsHostNetwork 29a1 33d0; WorkloadAwarePreemption 36a0 37-; WorkloadWithJob 36a0;
ZeroLimitedNominalConcurrencyShares 29b0 30g1L 32-;
"""

#: A gate, another that it needs, and the minor versions that require so.
NEEDS = """
AuthorizeNodeWithSelectors AuthorizeWithSelectors 35-36; ClusterTrustBundleProjection ClusterTrustBundle 35;
CompositePodGroup GenericWorkload 37; CompositePodGroup TopologyAwareWorkloadScheduling 37;
DRAAdminAccess DynamicResourceAllocation 35; DRAConsumableCapacity DynamicResourceAllocation 35;
DRADerivedAttributes DynamicResourceAllocation 37; DRADeviceBindingConditions DRAResourceClaimDeviceStatus 35;
DRADeviceBindingConditions DynamicResourceAllocation 35; DRADeviceCompatibilityGroups DRAPartitionableDevices 37;
DRADeviceCompatibilityGroups DynamicResourceAllocation 37; DRADeviceTaintRules DRADeviceTaints 35;
DRADeviceTaints DynamicResourceAllocation 35; DRAExtendedResource DynamicResourceAllocation 35;
DRAFractionalCapacityRange DRAConsumableCapacity 37; DRAListTypeAttributes DynamicResourceAllocation 36;
DRANodeAllocatableResources DynamicResourceAllocation 36; DRAOptionalNodeOperations DynamicResourceAllocation 37;
DRAOptionalNodeOperations NodeDeclaredFeatures 37; DRAPartitionableDevices DynamicResourceAllocation 35;
DRAPartitionableDevicesType DRAPartitionableDevices 37; DRAPartitionableDevicesType DRAResourcePoolStatus 37;
DRAPartitionableDevicesType DynamicResourceAllocation 37; DRAPrioritizedList DynamicResourceAllocation 35;
DRAResourceClaimGranularStatusAuthorization DRAResourceClaimDeviceStatus 36;
DRAResourceClaimGranularStatusAuthorization DynamicResourceAllocation 36; DRAResourcePoolStatus DynamicResourceAllocation 36;
DRASchedulerFilterTimeout DynamicResourceAllocation 35; DRAWorkloadResourceClaims DynamicResourceAllocation 36;
DRAWorkloadResourceClaims GenericWorkload 36; DeclarativeValidationBeta DeclarativeValidation 36;
DeclarativeValidationTakeover DeclarativeValidation 35; DisableAllocatorDualWrite MultiCIDRServiceAllocator 35;
EventedPLEG PLEGOnDemandRelist 37; ExtendWebSocketsToKubelet NodeDeclaredFeatures 36; GangScheduling GenericWorkload 35-36;
GracefulNodeShutdownBasedOnPodPriority GracefulNodeShutdown 35; H2CContainerProbe NodeDeclaredFeatures 37;
ImageVolumeWithDigest ImageVolume 36; InPlacePodLevelResourcesVerticalScaling InPlacePodVerticalScaling 35;
InPlacePodLevelResourcesVerticalScaling NodeDeclaredFeatures 35; InPlacePodLevelResourcesVerticalScaling PodLevelResources 35;
InPlacePodVerticalScalingAllocatedStatus InPlacePodVerticalScaling 35-35;
InPlacePodVerticalScalingExclusiveCPUs InPlacePodVerticalScaling 35;
InPlacePodVerticalScalingExclusiveMemory InPlacePodVerticalScaling 35; InPlacePodVerticalScalingExclusiveMemory MemoryManager 35-35;
InPlacePodVerticalScalingInitContainers InPlacePodVerticalScaling 36;
InPlacePodVerticalScalingInitContainers NodeDeclaredFeatures 36;
InPlacePodVerticalScalingMemoryBackedVolumes InPlacePodVerticalScaling 37;
InPlacePodVerticalScalingMemoryBackedVolumes NodeDeclaredFeatures 37;
InPlacePodVerticalScalingSchedulerPreemption InPlacePodVerticalScaling 37; KubeletAllocatedPodsEndpoint InPlacePodVerticalScaling 37;
MatchLabelKeysInPodTopologySpreadSelectorMerge MatchLabelKeysInPodTopologySpread 35;
PodCertificateRequest AuthorizeNodeWithSelectors 35-36; PodGroupPreemptionPolicy GenericWorkload 37;
PodLevelResourceManagers PodLevelResources 36; PodLevelResourcesFixDefaulting PodLevelResources 37;
PodLevelResourcesFixKubeletQOSClass PodLevelResources 37; PodLifecycleSleepActionAllowZero PodLifecycleSleepAction 35-36;
ProcMountType UserNamespacesSupport 35; ResourceHealthStatus DynamicResourceAllocation 35;
ResourceHealthStatusMessage ResourceHealthStatus 36; RestartAllContainersOnContainerExits ContainerRestartRules 35;
RestartAllContainersOnContainerExits NodeDeclaredFeatures 35;
ServiceAccountTokenNodeBinding ServiceAccountTokenNodeBindingValidation 35; StorageVersionAPI APIServerIdentity 35;
StructuredAuthenticationConfigurationEgressSelector StructuredAuthenticationConfiguration 35-36;
StructuredAuthenticationConfigurationJWKSMetrics StructuredAuthenticationConfiguration 35-36;
TopologyAwareWorkloadScheduling GenericWorkload 36; UnknownVersionInteroperabilityProxy APIServerIdentity 35;
UserNamespacesHostNetworkSupport NodeDeclaredFeatures 36; UserNamespacesHostNetworkSupport UserNamespacesSupport 35;
WindowsCPUAndMemoryAffinity MemoryManager 35-35; WindowsGracefulNodeShutdown GracefulNodeShutdown 35;
WorkloadAwarePreemption GangScheduling 36-36; WorkloadWithJob GenericWorkload 36;
"""

_STAGE = re.compile(r"([0-9]+)(-|[abgdp][01]L?)\Z")


class Gate(NamedTuple):
    """A feature gate of one minor version."""

    stage: str  # a alpha, b beta, g general, d deprecated, p not yet
    default: bool
    locked: bool


@functools.lru_cache(maxsize=16)
def gates_of(minor: int) -> dict[str, Gate]:
    """Each gate that Kubernetes 1.`minor` knows, by name.

    >>> gates_of(34)["CPUManagerPolicyAlphaOptions"], "CPUManager" in gates_of(34)
    (Gate(stage='a', default=False, locked=False), False)
    """
    found = {}
    for row in GATES.split(";"):
        name, *stages = row.split() or [""]
        now = ""
        for stage in stages:
            match = _STAGE.match(stage)
            if match and int(match[1]) <= minor:
                now = match[2]
        if now not in {"", "-"}:
            found[name] = Gate(now[0], now[1] == "1", now.endswith("L"))
    return found
