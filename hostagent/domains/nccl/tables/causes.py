"""Meaning and remedy of NCCL's warnings and notes, by the text of one record.

Sources (read 2026-11): NVIDIA/nccl as `hostagent.domains.nccl.tables.logs` has it, its user guide (troubleshooting, environment variables),
and issues of NVIDIA/nccl and aws/aws-ofi-nccl in which these texts were reported.
"""

from typing import NamedTuple

from hostagent.core.steps import Step
from hostagent.domains.nccl.tables.logs import TIMED_OUT


class Cause(NamedTuple):
    """The cause that one text in a log shows."""

    code: str
    pattern: str  # searched in the text of a record
    headline: str
    message: str
    steps: tuple[Step, ...]


_LOOK = Step("configure", "Run the job again with NCCL_DEBUG=INFO, and NCCL_DEBUG_FILE with %h.%p, so that each rank has a log of its own.")
_PORTS = Step("drain_and_inspect", "Look at the ports that the lines name: state, speed and counters.", "rdma link show")
_PATH = Step("drain_and_inspect", "Compare the MTU of the rails on all hosts, and of the switches between them.", "ip -d link show")

CAUSES: tuple[Cause, ...] = (
    Cause(
        "interface_absent",
        r"no socket interface found|NET/Socket : no interface found|No IP interface found|No usable listening interface",
        "NCCL found no interface for its connections",
        "No interface that is up and has an address fits NCCL_SOCKET_IFNAME; without that setting, the host has none.",
        (Step("configure", "Name an interface that every host has in NCCL_SOCKET_IFNAME, with = before an exact name.", "ip -br addr"),),
    ),
    Cause(
        "network_absent",
        r"network \S+ not found|Failed to initialize any NET plugin",
        "The network that NCCL_NET names is not there",
        "NCCL ends where the network that it has to use cannot be initialised.",
        (Step("configure", "Let NCCL_NET name what the image has, and look at the lines of the plug-in and of NET/IB further up."),),
    ),
    Cause(
        "plugin_failed",
        r"Initializing plugin failed|aws-ofi-nccl initialization failed|Failed to initialize NET plugin (?!IB\b|Socket\b)"
        r"|NET/Plugin ?: Plugin load .*(?:undefined symbol|version `|GLIBC)|NET/Plugin.*(?:undefined symbol|version `GLIBC)"
        r"|NET/Plugin: Failed to find .*symbol",
        "A network plug-in failed to load",
        "NCCL goes on without the plug-in, mostly by TCP.",
        (Step("install", "Install the plug-in for this version of NCCL with all libraries that it needs.", "ldd <file>"),),
    ),
    Cause(
        "no_hca",
        r"NET/IB ?: No device found",
        "NCCL found no HCA",
        "Either the container has no RDMA devices, no port is active, or NCCL_IB_HCA names none of them.",
        (Step("configure", "Give the container the RDMA devices, and let NCCL_IB_HCA name those that are active.", "rdma link show"),),
    ),
    Cause(
        "verbs_absent",
        r"Failed to open libibverbs\.so",
        "The image has no libibverbs",
        "Without that library NCCL cannot use RDMA.",
        (Step("install", "Install rdma-core's libibverbs and its providers into the image."),),
    ),
    Cause(
        "memory_lock",
        r"ibv_(?:reg_(?:dmabuf_)?mr\w*|create_(?:qp|cq)|alloc_pd)\b.*(?:[Cc]annot allocate memory|errno 12|error 12\b)"
        r"|failed.*RLIMIT_MEMLOCK|locked memory",
        "The HCA could not lock memory",
        "The limit of locked memory is too small for RDMA, or memory is short.",
        (
            Step(
                "configure", "Raise the limit of locked memory to unlimited for the job: ulimit -l, LimitMEMLOCK, the runtime.", "ulimit -l"
            ),
        ),
    ),
    Cause(
        "shared_memory",
        r"failed to extend .*bytes|Error while (?:creating|attaching to) shared memory segment",
        "Shared memory is too small, or cannot be shared",
        "Ranks of one host exchange data in /dev/shm.",
        (Step("configure", "Make /dev/shm larger: --shm-size, or a volume of medium Memory at /dev/shm.", "df -h /dev/shm"),),
    ),
    Cause(
        "gid",
        r"ibv_modify_qp failed with|Call to ibv_modify_qp failed|[Cc]ould not find .*GID|invalid GID|GID table changed|GID table change\b",
        "The two HCAs cannot make a connection: look at the GID",
        "A wrong GID index, GIDs of other kinds on the two sides, or a GID that changed while the job ran.",
        (Step("configure", "Leave NCCL_IB_GID_INDEX unset from NCCL 2.21 on; before, name the index of RoCE v2 with IPv4.", "show_gids"),),
    ),
    Cause(
        "link_down",
        r"async (?:fatal |error )?event(?: on \w+[^:]*)?: ?(?:.*port error|.*fatal)"
        r"|Got (?:non-fatal )?async (?:error )?event ?: .*port error",
        "A port lost its link while the job ran",
        "What follows are consequences on this and other ranks.",
        (_PORTS,),
    ),
    Cause(
        "peer_gone",
        r"Connection closed by remote peer|remote process exited|[Cc]onnection refused|[Nn]o route to host|Connection timed out",
        "Another rank is gone or cannot be reached",
        "Its own log has the first error; where it has none, the hosts do not reach each other.",
        (
            Step(
                "drain_and_inspect",
                "Read the log of the rank that the line names; then try whether the hosts reach each other.",
                "ping <address>",
            ),
        ),
    ),
    Cause(
        "collective_timeout",
        TIMED_OUT,
        "A collective did not end in time",
        "A rank stopped first, or GPUs wait for memory that they do not reach: through ACS and the IOMMU that is no error, but a hang.",
        (
            Step("drain_and_inspect", "Look for the rank that stopped first, then check the host: ACS and the IOMMU.", "hostagent check"),
            Step("configure", "If NCCL_P2P_DISABLE=1 lets the job run, the way between the GPUs is the fault.", if_back=True),
        ),
    ),
    Cause(
        "fabric_manager",
        r"system not yet initialized|CUDA error 802|Cuda failure 802",
        "The fabric manager does not run on this host",
        "CUDA cannot start on GPUs with NVSwitches without it.",
        (Step("restart_service", "Start the fabric manager.", "systemctl restart nvidia-fabricmanager"),),
    ),
    Cause(
        "nvls",
        r"NVLS|NVLink SHARP|[Mm]ulticast",
        "NVLink SHARP (NVLS) cannot be used",
        "Multicast over NVSwitches needs a fabric manager of the driver's version, and all GPUs of the partition.",
        (
            Step("restart_service", "Restart the fabric manager.", "systemctl restart nvidia-fabricmanager"),
            Step("configure", "Until then, NCCL_NVLS_ENABLE=0 lets jobs run.", if_back=True),
        ),
    ),
    Cause(
        "imex",
        r"IMEX|nvidia-imex|fabric handle",
        "The IMEX domain does not work",
        "GPUs of several hosts share memory over NVLink by it.",
        (Step("restart_service", "Look at the domain, and start its service.", "nvidia-imex-ctl -N"),),
    ),
    Cause(
        "duplicate_gpu",
        r"Duplicate GPU detected",
        "Two ranks use the same GPU",
        "Each rank needs a GPU of its own.",
        (Step("configure", "Let each rank choose its GPU by its local rank, and start as many ranks as the host has GPUs."),),
    ),
    Cause(
        "device_counts",
        r"[Mm]ixed local Net device counts",
        "Hosts have different numbers of NICs",
        "NCCL uses as many as the host with the fewest has, or ends.",
        (Step("drain_and_inspect", "Find the host on which a port is down or is not given to the container.", "rdma link show"),),
    ),
    Cause(
        "version_mismatch",
        r"Mismatched NCCL (?:git )?version",
        "Ranks have different versions of NCCL",
        "All ranks of a job need the same.",
        (Step("install", "Use one image for all ranks, and look for another libnccl in LD_LIBRARY_PATH.", "ldconfig -p"),),
    ),
    Cause(
        "wrong_type",
        r"wrong type \d+ != \d+",
        "Ranks with different networks met",
        "Some ranks use RDMA and others TCP, mostly because a setting or a device reaches only some of them.",
        (Step("configure", "Give all ranks the same NCCL settings and devices: mpirun needs -x for each variable."),),
    ),
    Cause(
        "cuda",
        r"Cuda failure|CUDA (?:driver|error)|unhandled cuda error|ncclUnhandledCudaError",
        "A call of CUDA failed",
        "The GPU, its driver or the program: NCCL only reports it.",
        (Step("drain_and_inspect", "Check the host.", "hostagent check"),),
    ),
)

LOOK, PORTS, PATH = _LOOK, _PORTS, _PATH
