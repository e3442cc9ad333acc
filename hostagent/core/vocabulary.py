"""Enumerations of reports and schemas: words are only ever added.

The reasons of ``Unread`` are in `hostagent.core.unread`.
"""

from typing import Literal, get_args

#: The result of a check on one subject.
Outcome = Literal["pass", "warn", "fail", "unknown", "skip", "off"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

#: Those that a check itself returns; `hostagent.engine.evaluate` sets the others.
Wrong = Literal["fail", "warn"]
WRONG: tuple[Wrong, ...] = get_args(Wrong)

#: Effect of a failed check, the heaviest first: not ready, degraded, none.
Severity = Literal["critical", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)

#: What a step of a remedy does, in the order in which steps are done. "none": there is nothing to do; "rerun": run the check again, as
#: root or when the driver answers; "contact_owner": another party owns that part of the host.
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

#: What a finding is about: whether jobs run here, or known vulnerabilities of the versions that run here.
Axis = Literal["fitness", "security"]
AXES: tuple[Axis, ...] = get_args(Axis)

#: Which jobs a check counts for: every job, or one of several nodes.
Scope = Literal["node", "fabric"]
SCOPES: tuple[Scope, ...] = get_args(Scope)

#: Whether a job may be placed here.
Verdict = Literal["ready", "degraded", "not_ready", "unknown"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

#: What was read: this machine, a live host mounted below another root, a tree of files that is not running.
Kind = Literal["live", "host-root", "image"]

#: An ordinary host, one from a cloud image that packages still change, one replaced as a whole, a guest of another system.
Base = Literal["host", "cloud-image", "managed", "guest"]
#: Owner of a part of a host: its administrator, the builder of its image, the GPU Operator, its provider.
PartOwner = Literal["host", "image", "operator", "provider"]
#: The parts that may have another owner, "" for none of them.
PartName = Literal["", "gpus", "driver", "toolkit", "runtime", "kubelet", "rdma"]
#: What a host runs in: "" on a board of its own, in a virtual machine, in a container that has a system of its own.
Virtual = Literal["", "vm", "container"]

#: The Kubernetes node condition of a family of checks, "" for none.
Condition = Literal["DriverReady", "ToolkitReady", "TopologyReady", "FabricReady", ""]
CONDITIONS: tuple[Condition, ...] = get_args(Condition)

#: The network that NCCL used by a job's logs, and whether by GPUDirect RDMA.
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

#: What a finding of a host may explain in a job's NCCL log.
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

#: Whether a host already is in the state that a step of a plan produces.
StepState = Literal["done", "to-do"]

#: How a rollback undoes a step.
UndoKind = Literal["restore", "packages", "marks", "units", "run", "none"]

#: The change of a systemd unit.
UnitChange = Literal["enabled", "disabled", "started", "stopped", "masked", "unmasked"]

#: How a run of the installer ends.
Ending = Literal["done", "nothing", "reboot", "refused", "declined", "failed", "busy"]

#: Requested in addition to what the GPUs of a host show.
Extra = Literal["nvswitch", "imex", "coherent"]
