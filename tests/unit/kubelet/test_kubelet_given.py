"""What a kubelet has given away: its state files with their checksums, and the device managers' checkpoint."""

import json

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.kubelet.read_allocations import parse_checkpoint, read_allocations, read_state_file, read_state_files
from hostagent.domains.kubelet.state_file import MAX_BYTES, parse_cpu_state, parse_memory_state
from hostagent.facts.kubelet import Device, MemoryBlock
from hostagent.testing import host

ROOT = "/var/lib/kubelet"
CPU, MEMORY, CHECKPOINT = f"{ROOT}/cpu_manager_state", f"{ROOT}/memory_manager_state", f"{ROOT}/device-plugins/kubelet_internal_checkpoint"
TABLE = {"total": 2048, "systemReserved": 512, "allocatable": 1536, "reserved": 512, "free": 1024}


def given(files, *, runs=False):
    source = host(files)
    return read_allocations(source, ROOT, read_state_files(source, ROOT), runs=runs)


# Sums that the kubelet's own tests hold (pkg/kubelet/cm/cpumanager/state, memorymanager/state, state_checkpoint_test.go).
@pytest.mark.parametrize(
    ("document", "verdict"),
    [
        ({"policyName": "none", "defaultCPUSet": "4-6", "entries": {}, "checksum": 354655845}, "right"),
        ({"policyName": "none", "defaultCPUSet": "1-3", "checksum": 1694838852}, "right"),
        (
            {
                "policyName": "none",
                "defaultCPUSet": "1-3",
                "entries": {"pod": {"container1": "4-6", "container2": "asd"}},
                "checksum": 962272150,
            },
            "right",
        ),
        (
            {
                "policyName": "none",
                "defaultCPUSet": "1-3",
                "entries": {"containerID1": "4-6", "containerID2": "1-3"},
                "checksum": 3680390589,
            },
            "right",
        ),
        ({"policyName": "none", "defaultCPUSet": "4-6", "entries": {}, "checksum": 1337}, "wrong"),
        ({"policyName": "none", "defaultCPUSet": "4-6"}, "right"),
        ({"policyName": "none", "defaultCpuSet": "4-6", "podEntries": {"pod": {"cpuSet": "1"}}, "checksum": 1}, "unknown"),
    ],
)
def test_the_sum_of_the_cpu_state_is_the_kubelets(document, verdict):
    assert parse_cpu_state(json.dumps(document).encode())["checksum"] == verdict


@pytest.mark.parametrize(("checksum", "verdict"), [(4215593881, "right"), (101010, "wrong")])
def test_the_sum_of_the_memory_state_is_the_kubelets(checksum, verdict):
    document = {
        "policyName": "static",
        "machineState": {"0": {"numberOfAssignments": 0, "memoryMap": {"memory": TABLE}, "cells": []}},
        "entries": {"pod": {"container1": [{"numaAffinity": [0], "type": "memory", "size": 512}]}},
        "checksum": checksum,
    }
    found = parse_memory_state(json.dumps(document).encode())
    assert (found["checksum"], "pod" in str(found)) == (verdict, False)


def test_cpus_and_memory_that_containers_have():
    node = {"numberOfAssignments": 2, "memoryMap": {"memory": TABLE}, "cells": [0, 1]}
    files = {
        CPU: json.dumps({"policyName": "static", "defaultCpuSet": "0,4-7", "entries": {"p": {"a": "1", "b": "2-3"}}}),
        MEMORY: "unread",
        f"state_file {MEMORY}": {
            "error": "",
            "checksum": "right",
            "policy": "Static",
            "nodes": [{"id": 0, "assignments": 2, **{k: node[k] for k in ("cells",)}, "memory": {"memory": TABLE}}],
            "blocks": [],
        },
    }
    found = given(files)
    assert (found.cpu_policy, found.cpus_shared, found.cpus_exclusive, found.memory_policy) == ("static", "0,4-7", "1-3", "Static")
    assert found.memory == (MemoryBlock(0, "memory", 1536, 1024, (0, 1)),)


def test_gpus_may_be_given_by_dra_alone():
    driver, plugin = f"{ROOT}/plugins/gpu.nvidia.com/dra.sock", f"{ROOT}/device-plugins/nvidia-gpu.sock"
    assert given({driver: ""}).dra_only is True
    assert given({driver: "", plugin: ""}).dra_only is False
    assert given({plugin: ""}).dra_only is False
    assert given({f"list {ROOT}/plugins/gpu.nvidia.com": Unread("denied", "no")}).dra_only.why == "denied"


def test_without_the_files_nothing_is_given():
    found = given({})
    assert (found.cpu_policy, found.cpus_shared, found.memory_policy, found.memory, found.devices, found.devices_from) == (
        "",
        "",
        "",
        (),
        (),
        "",
    )


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"policyName": 1}', '{"defaultCpuSet":"x","policyName":"none"}', "9" * 5000, '{"checksum":1}', "[" * 100_000]
)
def test_a_state_file_that_says_nothing_is_unread(text):
    assert given({CPU: text}).cpus_shared.why == "error"
    assert isinstance(parse_memory_state(text.encode()), dict)


def test_files_that_cannot_be_read_are_unread():
    denied = Unread("denied", "no")
    found = given(dict.fromkeys((CPU, MEMORY, CHECKPOINT), denied))
    assert (found.cpu_policy.why, found.memory.why, found.devices.why) == ("denied", "denied", "denied")


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"error": 0},
        {"error": "", "checksum": "right", "policy": "none", "nodes": 3},
        {"error": "", "checksum": "x", "policy": "", "nodes": [{}]},
    ],
)
def test_an_answer_of_another_shape_is_an_error(answer):
    assert read_state_file(host({f"state_file {CPU}": answer}), CPU).why == "error"


def test_a_file_larger_than_any_kubelets_is_refused():
    assert MAX_BYTES < 1024 * 1024


V2 = {
    "Data": {
        "PodDeviceEntries": [
            {
                "PodUID": "u",
                "ContainerName": "c",
                "ResourceName": "nvidia.com/gpu",
                "DeviceIDs": {"-1": ["GPU-b"], "1": ["GPU-gone"]},
                "AllocResp": "aHVudGVyMg==",
            }
        ],
        "RegisteredDevices": {"nvidia.com/gpu": ["GPU-c", "GPU-b"]},
    },
    "Checksum": 1,
}
V1 = {
    "Data": {
        "PodDeviceEntries": [{"ResourceName": "nvidia.com/gpu", "DeviceIDs": ["GPU-b"]}],
        "RegisteredDevices": {"nvidia.com/gpu": ["GPU-b"]},
    }
}


def test_the_checkpoint_tells_registered_and_given_devices():
    found = {one.id: (one.healthy, one.allocated, one.nodes.why) for one in parse_checkpoint(json.dumps(V2).encode())}
    assert found == {"GPU-c": (True, False, "not-running"), "GPU-b": (True, True, "not-running"), "GPU-gone": (False, True, "not-running")}
    assert [one.allocated for one in parse_checkpoint(json.dumps(V1).encode())] == [True]
    assert parse_checkpoint(b'{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1}') == ()


@pytest.mark.parametrize(
    "document", [[], {}, {"Data": 1}, {"Data": {"RegisteredDevices": []}}, {"Data": {"RegisteredDevices": {"a": [1]}}}, {"Data": {"PodDeviceEntries": [{}]}},
                 {"Data": {"PodDeviceEntries": [3]}}, {"Data": {"PodDeviceEntries": [{"ResourceName": "a", "DeviceIDs": {"0": {}}}]}}, {"Data": {"RegisteredDevices": {"a": [str(one) for one in range(5000)]}}}]
)  # fmt: skip
def test_a_checkpoint_of_another_shape_is_an_error(document):
    assert parse_checkpoint(json.dumps(document).encode()).why == "error"


def test_podresources_wins_where_it_answers():
    answer = {"devices": [["nvidia.com/gpu", ["GPU-c"], [1]]], "allocated": [["nvidia.com/gpu", ["GPU-b"], [0]]]}
    files = {CHECKPOINT: json.dumps(V2), "podresources list": answer}
    found = given(files, runs=True)
    assert found.devices_from == "podresources"
    assert found.devices == (Device("nvidia.com/gpu", "GPU-c", (1,), True, False), Device("nvidia.com/gpu", "GPU-b", (0,), False, True))
    assert given(files).devices_from == "checkpoint"
    late = given({**files, "podresources list": Unread("timeout", "podresources: no answer in 1 s")}, runs=True)
    assert (late.devices_from, late.devices[0].nodes.why) == ("checkpoint", "timeout")


@pytest.mark.parametrize("parse", [parse_cpu_state, parse_memory_state])
@pytest.mark.parametrize("field", ["machineState", "entries"])
def test_an_error_of_a_state_file_says_nothing_of_a_pod(parse, field):
    """It goes onto tapes."""
    data = {"policyName": "static", "defaultCpuSet": "0", field: {"hunter2": {"hunter3": 7, "hunter4": [{"type": ["hunter5"]}]}}}
    assert "hunter" not in parse(json.dumps(data).encode())["error"]
