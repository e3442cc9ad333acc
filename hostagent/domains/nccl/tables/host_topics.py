"""Topics of host findings that explain a job's log, by the code of the log's finding. Checks name their topics (`explains`).

A topic is listed if the findings of its checks make NCCL write those records, not if they merely cost bandwidth (NVIDIA/nccl,
src/transport/net_ib, src/graph/paths.cc, src/misc/shmutils.cc; its user guide, troubleshooting; rdma-core, ibv_reg_mr and ibv_modify_qp).
"""

from collections.abc import Mapping

from hostagent.core.vocabulary import Topic

#: By verdict and by code of a finding.
EXPLAINING: Mapping[str, tuple[Topic, ...]] = {
    "rdma_no_gdr": ("no-gpudirect",),
    "gdr_off": ("no-gpudirect",),
    "tcp_fallback": ("no-rdma",),
    "tcp_forced": ("forced",),
    "net_socket_nodes_unknown": ("no-rdma",),
    "mixed": ("no-rdma", "versions"),
    "no_hca": ("no-rdma",),
    "network_absent": ("no-rdma",),
    "device_counts": ("no-rdma",),
    "wrong_type": ("no-rdma",),
    "plugin_failed": ("plug-in",),
    "plugin_absent": ("plug-in",),
    "forced": ("forced",),
    "local_disabled": ("gpu-paths",),
    "interface_absent": ("interface",),
    "loopback": ("interface",),
    "virtual_interface": ("interface",),
    "peer_gone": ("interface", "link", "ports"),
    "retry_exceeded": ("no-path",),
    "path_mtu": ("mtu",),
    "gid": ("gid",),
    "link_down": ("link",),
    "completion_error": ("memory-access",),
    "collective_timeout": ("memory-access",),
    "memory_lock": ("memory-lock",),
    "shared_memory": ("shared-memory",),
    "fabric_manager": ("nvlink",),
    "nvls": ("nvlink", "nvls"),
    "imex": ("imex",),
    "cuda": ("gpu", "nvlink"),
    "version_mismatch": ("versions",),
    "version_skew": ("versions",),
}
#: Topics where advice is no cause: an unset NCCL_NET does not disable RDMA.
GRAVE: frozenset[Topic] = frozenset({"no-rdma", "no-gpudirect", "forced"})
#: Findings of a log with a certain cause; for others a cause is only possible.
REASONS: Mapping[str, str] = {
    "rdma_no_gdr": "GPUDirect is off because",
    "gdr_off": "GPUDirect is off because",
    "tcp_fallback": "NCCL has no RDMA because",
    "tcp_forced": "NCCL uses TCP because",
}
