"""Made reports of hosts for ``hostagent nccl env``: as ``hostagent check --format json`` writes them, with what the command reads of them."""

import copy

from hostagent.domains.nccl.node import parse_node
from hostagent.engine.report.node_summary import summary_of_report

UNREAD = {"unread": "denied", "detail": "EACCES"}
NOT_SUPPORTED = {"unread": "not-supported", "detail": "does not apply"}
LOSSLESS = {"lossless": [3], "trust": "dscp", "dscp": [], "firmware_dcbx": False}
LIBRARY = {"path": "/usr/lib/x86_64-linux-gnu/libnccl.so.2.27.3", "version": "2.27.3", "cuda": "12.9"}


def nic(name, *addresses, kind="physical", state="up", rdma=(), mtu=9000, **more):
    base = {
        "name": name, "pci": "0000:38:00.0", "kind": kind, "mtu": mtu, "state": state, "speed_mbps": 25000, "master": "", "parent": "",
        "addresses": list(addresses), "rdma": list(rdma), "priorities": LOSSLESS if rdma else NOT_SUPPORTED,
    }  # fmt: skip
    return {**base, **more}


def port(number, name="", *, layer="Ethernet", role="rail", **more):
    gid = {"index": 3, "value": f"0000:0000:0000:0000:0000:ffff:0a01:{number:02x}01", "type": "RoCE v2"}
    is_roce = layer == "Ethernet"
    base = {
        "name": name or f"mlx5_{number}", "port": 1, "pci": f"0000:{number + 16:02x}:00.0", "netdev": f"rail{number}" if is_roce else "", "link_layer": layer,
        "state": "ACTIVE", "physical_state": "LinkUp", "rate_gbps": 400.0, "role": role, "active_mtu": 4096, "gid": gid if is_roce else NOT_SUPPORTED,
        "driver": "mlx5_core", "firmware": "28.42.1000",
    }  # fmt: skip
    return {**base, **more}


def setting(name, value, origin="/etc/nccl.conf", *, wins=True):
    return {"name": name, "value": value, "from": origin, "line": 1, "wins": wins}


def finding(check="gpu.xid", outcome="fail", severity="critical", headline="GPU 3 fell off the bus", **more):
    return {
        "id": check,
        "outcome": outcome,
        "severity": severity,
        "axis": "fitness",
        "message": headline,
        "headline": headline,
        "found": "",
        "evidence": [],
        **more,
    }


def report(name="node1", *, rails=8, layer="Ethernet", settings=(), libraries=(LIBRARY,), plugins=(), findings=(), ifname="eth0", number=1):
    """Of one host with as many rails, each in a network of its own, and one interface for everything else."""
    ports = [port(one, layer=layer) for one in range(rails)]
    rail_nics = [nic(f"rail{one}", f"10.1.{one}.{number}/24", rdma=[f"mlx5_{one}"]) for one in range(rails if layer == "Ethernet" else 0)]
    gpus = [
        {
            "name": "NVIDIA H100 80GB HBM3",
            "numa_node": one // 4,
            "compute_capability": "9.0",
            "memory_bytes": 85520809984,
            "mig": {"current": False},
        }
        for one in range(8)
    ]
    near = [{"gpu": f"gpu{one}", "nics": [f"0000:{one + 16:02x}:00.0"], "class": "PIX"} for one in range(rails)]
    return {
        "schema_version": 2, "valid_until": 2_000_000_000.0, "boot_id": f"boot-{name}", "replayed": False, "partial": False,
        "host": {"hostname": name, "os": "Ubuntu 24.04", "kernel": "6.8.0", "arch": "x86_64", "platform": ""}, "findings": list(findings),
        "facts": {
            "gpus": gpus, "driver": {"loaded": "580.95.05"}, "topology": {"rails": near}, "platform": {"name": "", "contained": False},
            "fabric": {
                "nics": [nic(ifname, f"10.0.0.{number}/16", mtu=1500), *rail_nics, nic("docker0", "172.17.0.1/16", kind="bridge")],
                "rdma": ports, "gdr": {"peermem": "usable", "dmabuf": True}, "mtu": {},
            },
            "nccl": {"libraries": list(libraries), "plugins": list(plugins), "settings": list(settings), "choice": {}},
        },
    }  # fmt: skip


def node(made, file=""):
    return parse_node(copy.deepcopy(made), file)


def fleet(count, **more):
    """Hosts that differ in name and address alone."""
    return [report(f"node{number}", number=number, **more) for number in range(1, count + 1)]


def whole(made):
    """With the rest of what a report has, and what a fabric class needs to know of GPUs."""
    made = copy.deepcopy(made)
    for gpu in made["facts"]["gpus"]:
        gpu.update({"memory_bytes": 80 << 30, "mig": {"current": False, "pending": False}, **gpu})
    made["host"]["node_name"] = made["host"]["hostname"]
    head = {
        "observed_at": 1_000_000_000.0, "read_from": "live", "simulated": False, "headline": "", "action": "none", "reading_order": [],
        "verdict": {"single_node": "ready", "multi_node": "ready"}, "security": {"policy": "advisory", "advisories": 0, "unknown": 0},
    }  # fmt: skip
    return {**head, **made}


def summarized(made):
    return summary_of_report(whole(made))
