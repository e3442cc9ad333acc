"""The kubelet of this host: its configuration, whether it would start with it, and the devices and CPUs that it has allocated."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread

#: A map of KubeletConfiguration, by key.
Pairs = tuple[tuple[str, str], ...]


@frozen
class ReservedMemory:
    """One row of reservedMemory: quantities by resource (memory, hugepages-1Gi), canonical as Kubernetes prints them."""

    numa_node: int
    limits: Pairs


@frozen
class KubeletConfig:
    """The effective KubeletConfiguration, as configz serves it: files, drop-ins and flags merged, defaults filled in, quantities canonical.

    Fields are those of kubelet.config.k8s.io/v1beta1 in snake case (`hostagent.domains.kubelet.tables.defaults` has both names).
    """

    topology_manager_policy: str | Unread  # none, best-effort, restricted, single-numa-node
    topology_manager_scope: str | Unread  # container, pod
    topology_manager_policy_options: Pairs | Unread
    cpu_manager_policy: str | Unread  # none, static
    cpu_manager_policy_options: Pairs | Unread
    cpu_manager_reconcile_period: str | Unread  # 10s
    reserved_system_cpus: str | Unread  # cpulist, "" for none
    memory_manager_policy: str | Unread  # None, Static
    reserved_memory: tuple[ReservedMemory, ...] | Unread
    kube_reserved: Pairs | Unread
    system_reserved: Pairs | Unread
    kube_reserved_cgroup: str | Unread
    system_reserved_cgroup: str | Unread
    enforce_node_allocatable: tuple[str, ...] | Unread
    eviction_hard: Pairs | Unread
    eviction_soft: Pairs | Unread
    eviction_soft_grace_period: Pairs | Unread
    eviction_minimum_reclaim: Pairs | Unread
    eviction_max_pod_grace_period: int | Unread
    eviction_pressure_transition_period: str | Unread
    feature_gates: tuple[tuple[str, bool], ...] | Unread
    cgroups_per_qos: bool | Unread
    cgroup_root: str | Unread
    cgroup_driver: str | Unread  # systemd, cgroupfs
    kubelet_cgroups: str | Unread
    system_cgroups: str | Unread
    fail_cgroup_v1: bool | Unread
    cpu_cfs_quota: bool | Unread
    cpu_cfs_quota_period: str | Unread
    max_pods: int | Unread
    pods_per_core: int | Unread
    container_runtime_endpoint: str | Unread


@frozen
class Device:
    """One device that a device plug-in has registered with the kubelet."""

    resource: str  # nvidia.com/gpu
    id: str  # GPU-d7e1… , or what the plug-in calls it
    nodes: tuple[int, ...] | Unread  # NUMA nodes by podresources; () where the plug-in says none, unread without podresources
    healthy: bool | Unread
    allocated: bool | Unread  # to a container


@frozen
class MemoryBlock:
    """One memory type of one NUMA node by memory_manager_state, bytes."""

    numa_node: int
    resource: str  # memory, hugepages-1Gi
    allocatable: int
    free: int
    group: tuple[int, ...] = ()  # the nodes allocated together with this one: (0, 1); () while none of its memory is allocated


@frozen
class KubeletState:
    """Allocations of the kubelet, by its state files, the device checkpoint or podresources."""

    devices: tuple[Device, ...] | Unread  # () where no plug-in has registered
    devices_from: str | Unread  # podresources, checkpoint; "" where there is neither
    cpu_policy: str | Unread  # by cpu_manager_state: none, static; "" without the file
    cpus_shared: str | Unread  # cpulist of the shared pool; "" without the file
    cpus_exclusive: str | Unread  # cpulist of exclusive CPUs of containers
    memory_policy: str | Unread  # by memory_manager_state: None, Static; "" without the file
    memory: tuple[MemoryBlock, ...] | Unread
    dra_only: bool | Unread = False  # NVIDIA's DRA driver has registered, and no device plug-in of NVIDIA's: no GPU is a device
    #: Resources that its checkpoint has of device plug-ins, with devices or without; () where podresources shows a GPU.
    known_resources: tuple[str, ...] | Unread = ()


@frozen
class Kubelet:
    """The kubelet that is in use here; of several the one that runs, else the first. `state` is absent where there is none."""

    unit: str | Unread  # without .service; "" where none is in use
    version: str | Unread  # 1.34.2
    judged_as: str | Unread  # rules it was read by: "" of its version; newer, older: outside our tables; unknown: no version
    runs: bool | Unread
    started_at: float | Unread  # seconds since the epoch
    state: str | Unread  # accepted, rejected, absent
    error: str | Unread  # why it would not start, "" otherwise
    config: KubeletConfig | Unread
    origin: Pairs | Unread  # by KubeletConfiguration's field: default, the file, or the flag that set it
    config_files: tuple[str, ...] | Unread  # the file, then its drop-ins, in merge order
    newest_config_mtime: float | Unread  # seconds since the epoch, of those and of the unit's files
    #: Fields with another value in configz; unread where the profile names no configz.
    configz_differs: tuple[str, ...] | Unread
    #: State files that the kubelet would reject after a restart with this configuration: cpu_manager_state, memory_manager_state.
    refused_state_files: tuple[str, ...] | Unread
    given: KubeletState | Unread
    #: It runs, or has credentials of a cluster where installers put them; not-supported in a distribution, which has them elsewhere.
    joined: bool | Unread
    #: Where its own unit is not enabled: the unit of its platform that starts it (nodeadm-run), "" for none.
    starter: str | Unread = ""
