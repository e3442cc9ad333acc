"""The closed lists of words, each in its one home. A schema prints them, a report is made of them: they are only ever extended.

Why a fact is unread stands with ``Unread`` itself, in `hostagent.core.unread`.
"""

from typing import Literal, get_args

#: What came of a check on one subject.
Outcome = Literal["pass", "warn", "fail", "unknown", "skip", "off"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

#: Those that a check itself can say; `hostagent.engine.evaluate` decides the others.
Wrong = Literal["fail", "warn"]
WRONG: tuple[Wrong, ...] = get_args(Wrong)

#: How much a check weighs, the heaviest first: not ready, degraded, never counts.
Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

#: What a step of a remedy does, in the order in which steps are done. "none": there is nothing to do; "rerun": run the check again, as
#: root or when the driver answers; "contact_owner": that part of the host is somebody else's.
Action = Literal[
    "none",
    "contact_owner",
    "configure",
    "install",
    "restart_service",
    "drain_and_inspect",
    "reset_gpu",
    "reboot",
    "power_cycle",
    "replace",
    "rerun",
]
ACTIONS: tuple[Action, ...] = get_args(Action)

#: What a finding is about: whether jobs run here, or what the versions that run here are known to let in.
Axis = Literal["fitness", "security"]
AXES: tuple[Axis, ...] = get_args(Axis)

#: Which jobs a check counts for: every job, or one of several nodes.
Scope = Literal["node", "fabric"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

#: May a job be placed here.
Verdict = Literal["ready", "degraded", "not_ready", "unknown"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: What was read: this machine, a live host mounted below another root, a tree of files that does not run.
Kind = Literal["live", "host-root", "image"]

#: What a host is: an ordinary one, one from a cloud's image that packages still change, one replaced as a whole, a guest of another system.
Base = Literal["host", "cloud-image", "managed", "guest"]
#: Whose a part of a host is: whoever runs the host, whoever builds its image, the GPU Operator, whoever sells it.
PartOwner = Literal["host", "image", "operator", "provider"]
#: The parts that can be somebody else's, "" for none of them.
PartName = Literal["", "gpus", "driver", "toolkit", "runtime", "kubelet", "rdma"]
#: What a host runs in: "" on a board of its own, in a virtual machine, in a container that has a system of its own.
Virtual = Literal["", "vm", "container"]

#: The condition of a Kubernetes node that a family of checks decides, "" for none.
Condition = Literal["DriverReady", "ToolkitReady", "TopologyReady", "FabricReady", ""]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)

#: What the logs of a job say about its network: which one NCCL used, and whether by GPUDirect RDMA.
NcclVerdict = Literal[
    "rdma_gdr",
    "rdma_no_gdr",
    "rdma_gdr_unknown",
    "tcp_fallback",
    "tcp_forced",
    "tcp_plugin",
    "external_provider_unknown",
    "net_socket_nodes_unknown",
    "intra_node_only",
    "mixed",
    "failed",
    "unknown",
]
NCCL_VERDICTS: tuple[NcclVerdict, ...] = get_args(NcclVerdict)

#: Whether the channels over the network use GPUDirect RDMA.
Gdr = Literal["yes", "no", "mixed", "unknown"]

#: What a finding of a host may be the reason of in a job's log by NCCL.
Topic = Literal[
    "forced",
    "gid",
    "gpu",
    "gpu-paths",
    "imex",
    "interface",
    "link",
    "memory-access",
    "memory-lock",
    "mtu",
    "no-gpudirect",
    "no-path",
    "no-rdma",
    "nvlink",
    "nvls",
    "plug-in",
    "ports",
    "shared-memory",
    "versions",
]
TOPICS: tuple[Topic, ...] = get_args(Topic)

#: What a plan changes, in this order: the repositories serve the packages of the others.
PlanPart = Literal["repositories", "driver", "toolkit", "cuda", "docker", "runtime"]

#: How a step of a plan changes it.
StepKind = Literal[
    "repair",
    "file",
    "key",
    "refresh",
    "download",
    "packages",
    "hold",
    "modules",
    "unit",
    "load",
    "restart",
    "group",
]

#: Whether a host already is as a step of a plan leaves it.
StepState = Literal["done", "to-do"]

#: How a rollback takes a step back.
UndoKind = Literal["restore", "packages", "marks", "units", "run", "none"]

#: What becomes of a systemd unit.
UnitChange = Literal["enabled", "disabled", "started", "stopped", "masked", "unmasked"]

#: How a run of the installer ends.
Ending = Literal["done", "nothing", "reboot", "refused", "declined", "failed", "busy"]

#: What is asked for beside what the GPUs of a host show.
Extra = Literal["nvswitch", "imex", "coherent"]
