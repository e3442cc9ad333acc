"""Which checks of a host may say why a job's log is as it is: by the code of the log's finding.

A check stands where what it finds makes NCCL write those records, not where it merely costs bandwidth (NVIDIA/nccl, src/transport/net_ib,
src/graph/paths.cc, src/misc/shmutils.cc; its user guide, troubleshooting; rdma-core, ibv_reg_mr and ibv_modify_qp).
"""

from collections.abc import Mapping

_NO_GPUDIRECT = (
    "kernel.peermem_loaded", "topology.gpudirect", "topology.gpu_nic", "rdma.stacks", "nccl.gpudirect", "nccl.levels",
)  # fmt: skip
_NO_RDMA = (
    "rdma.present", "rdma.port_state", "rdma.subnet_manager", "rdma.link_layer", "rdma.hcas", "rdma.nodes", "rdma.netns_mode",
    "rdma.netdev_together", "rdma.virtual_function", "rdma.stacks", "nccl.efa", "nccl.ib_disable", "nccl.ib_hca", "nccl.net_plugin",
    "nccl.network",
)  # fmt: skip
_NO_PATH = (
    "rdma.port_state", "rdma.subnet_manager", "rdma.gid", "rdma.gid_index", "rdma.active_mtu", "rdma.link_downed", "rdma.pkey",
    "network.mtu", "network.mtu_below", "network.pfc", "network.rail_subnets", "network.traffic_class", "nccl.gid_index", "nccl.ib_hca",
    "nccl.partition_key", "nccl.retries", "nccl.traffic_class",
)  # fmt: skip
_NO_MEMORY_ACCESS = ("topology.acs", "topology.iommu", "topology.gpudirect", "kernel.peermem_loaded", "topology.fatal_errors")
_INTERFACE = ("nccl.interface", "nccl.comm_id", "network.job_port")
_FABRIC = ("nvswitch.manager_installed", "nvswitch.manager_running", "nvswitch.manager_version", "nvswitch.manager_errors",
           "nvswitch.board", "nvswitch.bound", "nvswitch.links", "gpu.fabric_state", "gpu.fabric_health")  # fmt: skip
_IMEX = ("nvswitch.imex_channels", "nvswitch.imex_configured", "nvswitch.imex_running", "nvswitch.imex_version", "gpu.fabric_clique")
_GPU = ("driver.loaded", "driver.library_match", "driver.cuda_level", "gpu.lost", "gpu.on_bus", "gpu.initialised", "gpu.reset_required",
        "gpu.recovery_action", "gpu.xid", "nccl.cuda")  # fmt: skip

#: By verdict and by code of a finding.
EXPLAINING: Mapping[str, tuple[str, ...]] = {
    "rdma_no_gdr": _NO_GPUDIRECT,
    "gdr_off": _NO_GPUDIRECT,
    "tcp_fallback": _NO_RDMA,
    "tcp_forced": ("nccl.ib_disable", "nccl.network"),
    "net_socket_nodes_unknown": _NO_RDMA,
    "mixed": (*_NO_RDMA, "nccl.versions"),
    "no_hca": _NO_RDMA,
    "network_absent": (*_NO_RDMA, "nccl.network"),
    "device_counts": _NO_RDMA,
    "wrong_type": _NO_RDMA,
    "plugin_failed": ("nccl.net_plugin", "nccl.efa"),
    "plugin_absent": ("nccl.net_plugin", "nccl.efa"),
    "forced": ("nccl.ib_disable", "nccl.network"),
    "local_disabled": ("nccl.gpu_paths",),
    "interface_absent": _INTERFACE,
    "loopback": _INTERFACE,
    "virtual_interface": _INTERFACE,
    "peer_gone": (*_INTERFACE, "rdma.link_downed", "rdma.port_state", "network.port_range"),
    "retry_exceeded": _NO_PATH,
    "path_mtu": ("network.mtu", "network.mtu_below", "rdma.active_mtu"),
    "gid": ("rdma.gid", "rdma.gid_index", "network.rail_subnets", "nccl.gid_index"),
    "link_down": ("rdma.link_downed", "rdma.port_state", "rdma.port_rate"),
    "completion_error": _NO_MEMORY_ACCESS,
    "memory_lock": ("host.memlock", "rdma.handle_limits"),
    "shared_memory": ("host.shm_size",),
    "fabric_manager": _FABRIC,
    "nvls": (*_FABRIC, "nccl.features"),
    "imex": _IMEX,
    "cuda": (*_GPU, *_FABRIC),
    "version_mismatch": ("nccl.versions",),
    "version_skew": ("nccl.versions",),
}
#: What the causes are told as the reason of; anything else they may explain.
REASONS: Mapping[str, str] = {
    "rdma_no_gdr": "GPUDirect is off because",
    "gdr_off": "GPUDirect is off because",
    "tcp_fallback": "NCCL has no RDMA because",
    "tcp_forced": "NCCL uses TCP because",
}
