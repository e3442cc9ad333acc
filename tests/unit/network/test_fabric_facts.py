"""What a report says of the fabric: facts.fabric."""

import json
from dataclasses import fields

import jsonschema

from hostagent.core.unread import Unread
from hostagent.domains.network import report
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.network import Address, Netdev, Network
from hostagent.facts.platform import Platform
from hostagent.facts.rdma import Gid, Pkey, RdmaPort
from hostagent.facts.topology import Nic, NumaNode, PciPlace, Topology

NOT_NAMED = Unread("not-recorded", "not named")
GPU, CARD, STORAGE = "0000:1b:00.0", "0000:18:00.0", "0000:b8:00.0"


def made(fact, **given):
    return fact(**{field.name: NOT_NAMED for field in fields(fact)} | given)


def port(device, pci, **given):
    gids = (Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0105", "RoCE v2", f"eth{device[-1]}"),)
    base = {
        "name": f"{device}:1", "device": device, "number": 1, "pci": pci, "virtual_of": "", "driver": "mlx5_core", "node_type": "CA",
        "firmware": "28.39.1002", "board_id": "MT_0000000838", "link_layer": "Ethernet", "state": "ACTIVE", "physical_state": "LinkUp",
        "rate_gbps": 400.0, "gids": gids, "netdev": f"eth{device[-1]}", "active_mtu": 4096, "max_mtu": 4096, "sm_lid": 0,
        "pkeys": (Pkey(0, 0xFFFF),),
    }  # fmt: skip
    return made(RdmaPort, **base | given)


def netdev(name, kind="physical", pci=CARD):
    own = {"name": name, "kind": kind, "pci": pci, "mtu": 9000, "state": "up", "addresses": (Address("10.0.1.5", 24),), "master": ""}
    return made(Netdev, **own, parent="", ports=())


def told(*ports, hcas=""):
    nics = tuple(made(Nic, pci=pci, numa_node=node, rdma=("mlx5_0",), virtual_of="") for pci, node in ((CARD, 0), (STORAGE, 1)))
    places = [PciPlace(pci, f"pci{pci[:7]}", (f"{pci[:7]}:01.0",)) for pci in (GPU, CARD, STORAGE)]
    numa = tuple(NumaNode(number, str(number), 1, (), ()) for number in range(2))
    facts = {
        Gpu: (made(Gpu, pci=GPU, numa_node=0, device_id="0x2330"),), Nic: nics, RdmaPort: ports, Platform: made(Platform, virtual=""),
        Topology: made(Topology, numa_nodes=numa, places=tuple(places)),
        Network: made(Network, netdevs=(netdev("lo", "loopback", ""), netdev("eth0"), netdev("veth7", "veth", ""), netdev("eth9", pci=STORAGE))),
    }  # fmt: skip
    found = report.write(HostFacts(facts), hcas)
    jsonschema.Draft202012Validator(report.schema()).validate(json.loads(json.dumps(found)))
    return found


def test_ports_with_what_a_job_gets_of_them():
    found = told(port("mlx5_9", STORAGE), port("mlx5_0", CARD))
    assert [(one["name"], one["role"]) for one in found["rdma"]] == [("mlx5_0", "rail"), ("mlx5_9", "other")]
    assert found["rdma"][0] == {
        "name": "mlx5_0", "port": 1, "pci": CARD, "netdev": "eth0", "link_layer": "Ethernet", "state": "ACTIVE", "physical_state": "LinkUp",
        "rate_gbps": 400.0, "role": "rail", "active_mtu": 4096, "active_mtu_from": "verbs", "sm_lid": 0, "pkeys": [{"index": 0, "value": "0xffff"}],
        "gid": {"index": 3, "value": "0000:0000:0000:0000:0000:ffff:0a00:0105", "type": "RoCE v2"}, "firmware": "28.39.1002",
        "board_id": "MT_0000000838", "driver": "mlx5_core",
    }  # fmt: skip
    assert found["mtu"] == {
        "agree": True, "netdev": 9000, "active": 4096, "odd": [], "text": "1 rail RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: agree",
    }  # fmt: skip


def test_interfaces_without_loopback_and_veth():
    found = told(port("mlx5_0", CARD))["nics"]
    assert [(one["name"], one["rdma"]) for one in found] == [("eth0", ["mlx5_0"]), ("eth9", [])]
    assert found[0]["addresses"] == ["10.0.1.5/24"]


def test_the_profile_says_which_ports_are_rails():
    found = told(port("mlx5_0", CARD), port("mlx5_9", STORAGE), hcas="=mlx5_9")
    assert [one["role"] for one in found["rdma"]] == ["other", "rail"]
    assert found["mtu"]["text"].startswith("1 rail ")


def test_where_a_role_is_unread_the_mtu_is():
    hung = Unread("timeout", "mlx5_0")
    found = told(port("mlx5_0", CARD, state=hung, rate_gbps=hung))
    assert found["rdma"][0]["role"] == found["mtu"] == {"unread": "timeout", "detail": "mlx5_0"}


def test_a_host_without_rdma_says_so():
    found = told()
    assert (found["rdma"], found["mtu"]["text"]) == ([], "no rails: the host has no RDMA port that jobs use")
