"""What each field of the gate's answer says, and each code, for its schema: by the path of its names."""

from collections.abc import Mapping
from typing import Any

from hostagent.gate.answer import Code

#: Programs may rely on the codes.
CODES: Mapping[Code, str] = {
    "TooFewNodes": "Of the whole request: fewer nodes than wanted have no reason against them.",
    "NoCommonClass": "Of the whole request: enough nodes are eligible, but no class (with same_domain no domain of a class) has enough.",
    "Stale": "The report is past its time, older than the request allows, from the future, or without a time.",
    "OtherBoot": "The report is of another boot of the node, or reports of one moment are of different boots.",
    "NotReady": "The verdict for a job of one node is not_ready.",
    "Unknown": "The verdict for a job of one node is unknown, or is not there.",
    "MultiNodeNotReady": "The verdict for a job of several nodes is neither ready nor degraded.",
    "Coverage": "The report does not cover everything, and the request wants full coverage.",
    "TooFewGpus": "It has fewer GPUs for jobs than wanted, or their number was not read.",
    "Product": "Its GPUs are of another product.",
    "ComputeCapability": "The compute capability of its GPUs is too low.",
    "GpuMemory": "NVML finds less memory on each of its GPUs than wanted: a card sold as 24 GB has 22 GiB.",
    "Driver": "Another version of the driver than wanted.",
    "Cuda": "The driver runs another CUDA version than wanted.",
    "Toolkit": "Another version of the NVIDIA Container Toolkit than wanted, or none.",
    "Mig": "MIG is on, or whether it is on was not read.",
    "PodShape": "The kubelet of the empty node would not admit a pod with so many GPUs.",
    "Excluded": "The request excludes the node, or names others only.",
    "NotInClass": "It differs from the nodes of the largest class in what one job needs alike, or its class was not read.",
    "NotInDomain": "It is in another NVLink domain than the others, or its domain was not read.",
    "NoSummary": "The backend knows the node, and has no summary of it.",
    "NodeNotReady": "Kubernetes says that the node is not ready.",
    "Cordoned": "The node is cordoned.",
    "Tainted": "The node has a taint that the job does not tolerate.",
    "Drained": "Slurm drains the node.",
    "Down": "Slurm starts no job on the node now: down, not responding, reserved, powered off, planned for another job.",
    "NoFreeGpus": "Other jobs have its GPUs, or none is offered.",
    "Shared": "Its GPUs are shared by time slicing or MPS: more are offered than the host has.",
    "Dra": "Its GPUs are handed out by Dynamic Resource Allocation.",
    "Selector": "The job's own node selector, or its partition, does not match the node.",
    "NoFreePods": "The node takes no more pods.",
    "NotEverythingRead": "Of the whole request: not every node that could serve was read.",
}

_REASON = {
    "code": "What it is: stable, for programs.",
    "message": "The same for people. It may change from release to release.",
    "found": "The value that was found.",
    "wanted": "The value that was wanted.",
}

DESCRIPTIONS: Mapping[str, str] = {
    "schema_version": "The version of this schema.",
    "backend": "Where the nodes were looked up.",
    "placeable": "Whether the job may be placed.",
    "request": "What was asked for.",
    "request.nodes": "How many nodes.",
    "request.gpus_per_node": "How many GPUs on each.",
    "request.product": "The whole name of the GPUs' product; empty for any. Case does not count, - and _ count as blanks.",
    "request.compute_capability": "The compute capability at least; empty for any.",
    "request.gpu_memory_gib": "Memory of each GPU at least, in GiB as NVML reads it; null for any.",
    "request.driver": "The driver's version: V or >=V at least, ==V exactly; empty for any.",
    "request.cuda": "The CUDA version that the driver runs, in the same way.",
    "request.toolkit": "The version of the NVIDIA Container Toolkit, in the same way; a node without one is refused.",
    "request.min_driver_version": "The driver's version at least, by the requirements file; empty for any.",
    "request.min_cuda_version": "The CUDA version at least, by the requirements file; empty for any.",
    "request.min_container_toolkit_version": "The NVIDIA Container Toolkit at least, by that file; a node without one gets a warning.",
    "request.max_age_s": "Greatest age of a report in seconds; null: a report counts until its valid_until.",
    "request.exclude": "Nodes that the job must not get.",
    "request.only": "The nodes that the job may get; empty for all.",
    "request.require_coverage": "full: a report has to cover everything; empty: it need not.",
    "request.allow_mig": "Whether nodes with MIG on are allowed.",
    "request.host_nccl": "Whether the job uses the host's NCCL: nodes are grouped by fabric.host_class.",
    "request.same_domain": "Whether all nodes have to be in one NVLink domain.",
    "request.may_differ": "Inputs of the class in which the nodes may differ, as the job can bear that.",
    "request.tolerations": "Taints that the job tolerates: KEY, KEY=VALUE, with :EFFECT for one effect.",
    "request.node_selector": "Labels that the job asks of its nodes: KEY=VALUE.",
    "request.partition": "The partition of the job; empty for the default one.",
    "request.reservation": "The reservation of the job; empty for none.",
    "request.ignore_running": "Whether GPUs of running jobs count as free.",
    "nodes": "The chosen nodes; empty where the job cannot be placed.",
    "gpus": "By chosen node how many GPUs jobs may have there.",
    "valid_until": "When the answer is too old to place the job by, in seconds since 1970; null where the job cannot be placed.",
    "fabric_class": "The fabric class of the chosen nodes; empty where they have not one.",
    "domain": "Their NVLink domain; empty where they are of several, or of none.",
    "reasons": "Why the whole request is refused; empty where it is not.",
    **{f"reasons.{name}": text for name, text in _REASON.items()},
    "refused": "The nodes that are not eligible; where the job cannot be placed, those outside the largest class too.",
    "refused.node": "The node.",
    "refused.reasons": "All reasons against it.",
    **{f"refused.reasons.{name}": text for name, text in _REASON.items()},
    "warnings": "What is worth a look: files that are no reports, and what was not judged.",
    "examined": "What the answer is based on.",
    "examined.nodes": "How many nodes were looked at: files have a report of them, or the cluster was asked.",
    "examined.eligible": "How many of them have no reason against them, as far as was asked: free GPUs are asked of few nodes.",
    "examined.not_examined": "How many nodes the backend knows and did not look at.",
    "not_asked": "What was not asked, and may refuse the job: kinds of its pods' namespace; of Slurm limits of accounts and QOS.",
    "pin": "Whether the affinity names the chosen nodes (nodes), or their labels alone (class).",
    "selector": "Labels for a pod's nodeSelector; empty where no label carries the class.",
    "affinity": "A pod's affinity: the same labels, and with pin nodes the names of the chosen nodes.",
    "tolerations": "The job's tolerations, as a pod has them.",
    "env": "Settings of NCCL that all chosen nodes have with one value.",
    "env_by_node": "By node, the settings that differ from node to node.",
}


def with_codes(shape: Any) -> Any:
    """The schema with a sentence for each code."""
    if isinstance(shape, dict):
        if shape.get("enum") == list(CODES):
            rest = {key: value for key, value in shape.items() if key != "enum"}
            return {**rest, "oneOf": [{"const": code, "description": text} for code, text in CODES.items()]}
        return {key: with_codes(value) for key, value in shape.items()}
    return [with_codes(one) for one in shape] if isinstance(shape, list) else shape
