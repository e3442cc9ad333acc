"""Summaries of made nodes for the gate's tests."""

import copy
import hashlib
import json

NOW = 1_795_000_000.0
INPUTS = {
    "gpu_product": "NVIDIA H100 80GB HBM3",
    "gpu_memory": "80",
    "gpu_count": "8",
    "gpus_per_numa": "2 x 4",
    "mig": "off",
    "driver_branch": "580",
    "link_layer": "Ethernet",
    "hcas": "8",
    "rate_gbps": "8 x 400",
    "mtu": "9000",
    "active_mtu": "4096",
    "gid_type": "RoCE v2",
    "gdr": "yes",
    "traffic_class": "104",
    "hca_names": "mlx5_0:1, mlx5_1:1",
    "nccl": "2.28.9",
    "net_plugin": "none",
    "socket_ifname": "=eth0",
    "settings": "none",
}
OWN = tuple(INPUTS)[:14]
ABSENT = ...
#: Codes that only backends give that ask a cluster.
OF_CLUSTERS = (
    "NoSummary",
    "NodeNotReady",
    "Cordoned",
    "Tainted",
    "Drained",
    "Down",
    "NoFreeGpus",
    "Shared",
    "Dra",
    "Selector",
    "NoFreePods",
    "NotEverythingRead",
)


def classes(inputs, version="1", hidden=""):
    """Class and host class, as a summary has them: unread where one of the inputs is."""

    def of(names):
        values = [inputs.get(name) for name in names]
        if not all(isinstance(value, str) for value in values):
            return {"unread": "denied"}
        return f"{version}-{hashlib.sha256(json.dumps([values, hidden]).encode()).hexdigest()[:12]}"

    return {"class": of(OWN), "host_class": of(tuple(INPUTS))}


def summary(node="n1", changes=None, inputs=None, version="1", hidden=""):
    """A healthy node; `changes` by dotted path, an ellipsis takes the field away; `inputs` differ, and its classes with them."""
    shown = {**INPUTS, **(inputs or {})}
    shown = {name: value for name, value in shown.items() if value is not ABSENT}
    made = {
        "schema_version": 1,
        "node": node,
        "boot_id": "b1",
        "observed_at": NOW - 60,
        "valid_until": NOW + 840,
        "verdict": {"single_node": "ready", "multi_node": "ready"},
        "headline": "",
        "action": "none",
        "security": {"advisories": 0, "unknown": 0},
        "coverage": "full",
        "reasons": [],
        "gpus": {"count": 8, "product": "NVIDIA-H100-80GB-HBM3", "memory_gib": 80, "compute_capability": "9.0", "mig": False},
        "driver": "580.178.04",
        "cuda": "13.0",
        "toolkit": "1.19.1",
        "fabric": {"inputs": shown, "domain": "d1", **classes(shown, version, hidden)},
        "nccl": {"version": "2.28.9", "env": {"NCCL_NET": "IB", "NCCL_IB_HCA": "=mlx5_0:1"}},
        "kubelet": {
            "policy": "single-numa-node",
            "scope": "pod",
            "cpu_manager": "static",
            "memory_manager": "Static",
            "devices": "numa",
            "numa": [{"gpus": 8, "cpus": 48, "memory_gib": 503}, {"gpus": 0, "cpus": 48, "memory_gib": 503}],
        },
    }
    for path, value in (changes or {}).items():
        put(made, path.split("."), value)
    return made


def put(document, path, value):
    """In place: a value at a path of keys and positions, or none there."""
    *parents, last = path
    for key in parents:
        document = document[int(key) if isinstance(document, list) else key]
    last = int(last) if isinstance(document, list) else last
    if value is ABSENT:
        del document[last]
    else:
        document[last] = value


def changed(document, path, value):
    made = copy.deepcopy(document)
    put(made, path, value)
    return made


def paths(document, above=()):
    """Of every field, parents before what is in them; a list's entries are no fields, theirs are."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield (*above, key)
            yield from paths(value, (*above, key))
    elif isinstance(document, list):
        for number, value in enumerate(document):
            yield from paths(value, (*above, str(number)))
