"""Descriptions of the codes of the gate's answer, for its schema."""

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


def with_codes(shape: Any) -> Any:
    """The schema with a sentence for each code."""
    if isinstance(shape, dict):
        if shape.get("enum") == list(CODES):
            rest = {key: value for key, value in shape.items() if key != "enum"}
            return {**rest, "oneOf": [{"const": code, "description": text} for code, text in CODES.items()]}
        return {key: with_codes(value) for key, value in shape.items()}
    return [with_codes(one) for one in shape] if isinstance(shape, list) else shape
