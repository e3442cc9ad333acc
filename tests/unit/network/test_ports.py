"""RDMA ports out of the lane's answers, from a dictionary as a host."""

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.network.read_ports import read_ports
from hostagent.facts.rdma import Gid, Pkey
from hostagent.testing import host

LOCAL, FOUR = "fe80:0000:0000:0000:9a03:9bff:feaa:bb00", "0000:0000:0000:0000:0000:ffff:0a00:0105"
DEVICE = {
    "pci": "0000:1a:00.0", "driver": "mlx5_core", "virtual_of": "", "manages_nvlink": False, "node_type": "1: CA", "fw_ver": "28.39.1002",
    "board_id": "MT_0000000838", "hca_type": "MT4129", "node_guid": "9803:9b03:00aa:bb00", "node": "uverbs0", "ports": ["1"], "link_policy": {},
    "netdevs": [["ens1np0", 0]],
}  # fmt: skip
PORT = {
    "state": "4: ACTIVE", "phys_state": "5: LinkUp", "rate": "400 Gb/sec (4X NDR)", "link_layer": "Ethernet", "lid": "0x0", "sm_lid": "0x0",
    "pkeys": [[0, "0xffff"]], "gids": [[0, LOCAL, "IB/RoCE v1", "ens1np0"], [3, FOUR, "RoCE v2", "ens1np0"]], "link_downed": "2",
    "traffic_class": "Global tclass=106",
}  # fmt: skip
VERBS = {"state": 4, "max_mtu": 5, "active_mtu": 3}


def gap(why, detail="why"):
    return {"unread": [why, detail]}


def answers(name="mlx5_0", number="1", device=(), port=(), verbs=VERBS):
    return {
        "rdma devices": [name],
        f"rdma device {name}": DEVICE | dict(device) if isinstance(device, dict | tuple) else device,
        f"rdma port {name} {number}": PORT | dict(port) if isinstance(port, dict | tuple) else port,
        f"rdma verbs {name} {number}": verbs,
    }


def only(**given):
    (one,) = read_ports(host(answers(**given)), None)
    return one


def test_a_port():
    one = only()
    assert (one.name, one.device, one.number, one.pci, one.driver, one.virtual_of) == (
        "mlx5_0:1",
        "mlx5_0",
        1,
        "0000:1a:00.0",
        "mlx5_core",
        "",
    )
    assert (one.node_type, one.firmware, one.board_id, one.node_guid, one.node) == (
        "CA", "28.39.1002", "MT_0000000838", "9803:9b03:00aa:bb00", "uverbs0",
    )  # fmt: skip
    assert (one.link_layer, one.state, one.physical_state, one.rate_gbps, one.rate_words) == (
        "Ethernet", "ACTIVE", "LinkUp", 400.0, "400 Gb/sec (4X NDR)",
    )  # fmt: skip
    assert (one.lid, one.sm_lid, one.pkeys, one.link_policy) == (0, 0, (Pkey(0, 0xFFFF),), "")
    assert one.gids == (Gid(0, LOCAL, "IB/RoCE v1", "ens1np0"), Gid(3, FOUR, "RoCE v2", "ens1np0"))
    assert (one.netdev, one.active_mtu, one.max_mtu, one.traffic_class, one.link_downed) == ("ens1np0", 1024, 4096, 106, 2)


def test_a_host_without_devices_has_no_ports():
    assert read_ports(host({"rdma devices": []}), None) == ()


def test_where_the_devices_are_unread_the_ports_are():
    assert read_ports(host({"rdma devices": Unread("denied", "no")}), None).why == "denied"
    assert read_ports(host({"rdma devices": "mlx5_0"}), None).why == "error"


def test_a_management_function_has_no_ports():
    assert read_ports(host(answers(device={"manages_nvlink": True, "ports": []})), None) == ()


def test_a_device_that_hangs_is_not_forgotten():
    hung = Unread("timeout", "device mlx5_0")
    one = only(device=hung, port=hung, verbs=hung)
    assert (one.name, one.state.why, one.pci.why, one.netdev.why, one.active_mtu.why) == ("mlx5_0:1", *["timeout"] * 4)


def test_a_port_that_vanishes_is_unread_and_its_device_is_not():
    one = only(port=Unread("error", "went"))
    assert (one.pci, one.state.why, one.gids.why, one.traffic_class.why) == ("0000:1a:00.0", "error", "error", "error")


def test_values_say_why_there_is_none():
    one = only(port={"state": gap("denied"), "gids": [[0, LOCAL, gap("error"), gap("absent")]], "link_downed": gap("absent")})
    assert (one.state.why, one.state.question) == ("denied", "rdma port mlx5_0 1")
    assert (one.gids[0].type.why, one.gids[0].netdev, one.link_downed.why) == ("error", "", "absent")


def test_what_a_driver_does_not_have():
    one = only(device={"fw_ver": gap("absent"), "board_id": gap("absent")}, port={"traffic_class": gap("absent")})
    assert (one.firmware, one.board_id, one.traffic_class.why) == ("", "", "not-supported")
    assert only(device={"board_id": gap("denied")}).board_id.why == "denied"


@pytest.mark.parametrize(
    ("gids", "netdevs", "number", "netdev"),
    [
        ([[0, LOCAL, "RoCE v2", "bond0"]], [["ens1f0np0", 0], ["ens1f1np1", 1]], "1", "bond0"),  # a bond has taken over
        ([], [["ib0", 0]], "1", "ib0"),
        ([], [["ib0.8001", 0], ["ib0", 0]], "1", "ib0"),
        ([], [["eth2", 0], ["eth3", 1]], "2", "eth3"),  # one function with two ports
        ([], [["eth2", gap("absent")]], "1", "eth2"),
        ([], [], "1", ""),  # moved to another network namespace
        ([[2, FOUR, "RoCE v2", "eth0.100"], [0, LOCAL, "RoCE v2", "eth0"]], [], "1", "eth0"),
        (gap("absent"), [["rdmap0", 0]], "1", "rdmap0"),
    ],
)
def test_the_interface_of_a_port(gids, netdevs, number, netdev):
    assert only(number=number, device={"ports": [number], "netdevs": netdevs}, port={"gids": gids}).netdev == netdev


def test_an_unread_table_leaves_the_interface_open():
    assert only(port={"gids": gap("timeout")}).netdev.why == "timeout"


def test_the_policy_of_a_virtual_function():
    virtual = {"virtual_of": "0000:1a:00.0"}
    assert only(device=virtual | {"link_policy": {"1": "Follow"}}).link_policy == "Follow"
    assert only(device=virtual).link_policy.why == "absent"
    assert only(device=virtual | {"link_policy": {"1": gap("denied")}}).link_policy.why == "denied"


def test_without_libibverbs_the_mtu_is_unread():
    one = only(verbs=Unread("absent", "no libibverbs"))
    assert one.active_mtu.why == one.max_mtu.why == "absent"
    assert only(verbs=VERBS | {"active_mtu": 6}).active_mtu.why == "error"
    assert only(verbs=VERBS | {"active_mtu": True}).active_mtu.why == "error"


def test_ports_in_the_order_of_devices_and_numbers():
    files = answers(device={"ports": ["1", "2"]}) | {"rdma port mlx5_0 2": PORT, "rdma verbs mlx5_0 2": VERBS}
    assert [one.name for one in read_ports(host(files), None)] == ["mlx5_0:1", "mlx5_0:2"]


@pytest.mark.parametrize("answer", [[], "x", None, 3, {"ports": 3}, {"ports": [None, "x", "²"]}])
def test_answers_of_another_shape(answer):
    for one in read_ports(host(answers() | {"rdma device mlx5_0": answer, "rdma port mlx5_0 1": answer}), None):
        assert one.state.why in {"error", "absent"}


@pytest.mark.parametrize(
    "rows", [[[0]], [[0, 5, "a", "b"]], "abc", [["0", LOCAL, "a", "b"]], [[0, LOCAL, [], ""]], [[0, "short", "a", "b"]]]
)
def test_tables_of_another_shape(rows):
    assert only(port={"gids": rows}).gids.why == "error"


@pytest.mark.parametrize("value", [gap("perhaps"), {"unread": "x"}, {"unread": [1, 2]}, {}, [1], 4])
def test_values_of_another_shape(value):
    one = only(port={"state": value, "lid": value, "pkeys": [[0, value]]})
    assert one.state.why == one.lid.why == one.pkeys.why == "error"


@pytest.mark.parametrize("why", [["denied"], {}, None, 3])
def test_a_gap_whose_reason_is_no_word_is_an_error(why):
    one = only(device={"pci": {"unread": [why, "x"]}}, verbs={"unread": [why, "x"]})
    assert (one.pci.why, one.active_mtu.why) == ("error", "error")
