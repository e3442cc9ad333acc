"""Interfaces out of the lane's answers, from a dictionary as a host."""

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.network.read_network import read_network
from hostagent.domains.network.stack import below, cards, stack
from hostagent.facts.network import Address
from hostagent.facts.rdma import Gid, RdmaPort
from hostagent.facts.topology import Nic
from hostagent.testing import host
from tests.cpu import within

ALL = {"arp_ignore": "0", "arp_announce": "2", "arp_filter": "0", "rp_filter": "1"}
OWN = {"arp_ignore": "1", "arp_announce": "0", "arp_filter": "0", "rp_filter": "2"}
CARD = {
    "ifindex": "3", "iflink": "3", "mtu": "9000", "operstate": "up", "flags": "0x1003", "type": "1", "kind": "physical", "pci": "0000:1a:00.0",
    "devtype": "", "master": "", "lower": [], "parent": "", "bonding": "", "sysctls": OWN,
}  # fmt: skip
DCB = {"pfc": [3], "dscp": "26:3 48:6", "selectors": None, "dcbx": 5}
TAPE = {
    "network devices": ["docker0", "eth1", "lo", "veth1"],
    "network others": [
        "docker0 7 bridge 7 1500 up 0x1003 /",
        "lo 1 loopback 1 65536 unknown 0x9 /",
        "veth1 9 veth 8 1500 up 0x1003 docker0",
    ],
    "network device eth1": CARD,
    "network settings": {"all": ALL, "port_range": "32768 60999", "reserved_ports": "29500,30000-32767"},
    "network addresses": [["eth1", "10.0.0.5", 24], ["lo", "127.0.0.1", 8]],
    "network kinds": {},
    "network speed eth1": "400000",
    "network listeners": [[29500, "python3"]],
    "network dcb eth1": DCB,
}
GAP = {"unread": ["denied", "why"]}


def nic(pci="0000:1a:00.0", rdma=("mlx5_0",), virtual_of="", bound_to="mlx5_core", device_id="0x1021"):
    none = Unread("not-recorded", "no matter")
    return Nic(pci, "0x15b3", device_id, bound_to, virtual_of, 0, "0-3", none, rdma, none, none, none, none)


def gids(*mapped):
    """A port whose GID table names addresses of interfaces; nothing else of it matters here."""
    fields = dict.fromkeys(RdmaPort.__fields__, Unread("not-recorded", "no matter"))
    rows = [Gid(index, f"::ffff:{address}", "RoCE v2", name) for index, (name, address) in enumerate(mapped)]
    return RdmaPort(**{**fields, "name": "mlx5_0:1", "gids": tuple(rows)})


NIC = nic()


def network(nics=(NIC,), ports=(), **answers):
    tape = TAPE | {f"network {key.replace('__', ' ')}": value for key, value in answers.items()}
    return read_network(host(tape), lambda kind: nics if kind is Nic else ports)


def test_a_card_and_software_are_told_in_the_kernels_order():
    found = network()
    assert [one.name for one in found.netdevs] == ["lo", "eth1", "docker0", "veth1"]
    card, bridge, veth = found.netdevs[1:]
    assert (card.index, card.kind, card.mtu, card.state, card.speed_mbps) == (3, "physical", 9000, "up", 400000)
    assert (card.arp_ignore, card.arp_announce, card.rp_filter) == (1, 2, 2), "the higher of both counts"
    assert card.addresses == (Address("10.0.0.5", 24),)
    assert (bridge.kind, bridge.ports, veth.master, veth.mtu) == ("bridge", ("veth1",), "docker0", 1500)
    assert (found.port_range, found.reserved_ports) == ((32768, 60999), ((29500, 29500), (30000, 32767)))
    assert [(one.port, one.process) for one in found.listeners] == [(29500, "python3")]


def test_priorities_are_asked_of_interfaces_with_an_rdma_device():
    told = network().netdev("eth1").priorities
    assert (told.lossless, told.trust, told.dscp, told.firmware_dcbx) == ((3,), "dscp", ((26, 3), (48, 6)), False)
    assert told.ecn.why == "not-supported"
    assert network(nics=(nic(rdma=()),)).netdev("eth1").priorities.why == "not-supported"


@pytest.mark.parametrize(
    ("dcb", "bound_to", "trust"),
    [
        (DCB | {"dscp": ""}, "mlx5_core", "pcp"),
        (DCB | {"dscp": "", "selectors": [5, 255]}, "bnxt_en", "dscp"),
        (DCB | {"selectors": [255]}, "bnxt_en", "pcp"),
        (DCB | {"selectors": []}, "ice", "none"),
    ],
)
def test_what_a_port_trusts_by_its_driver_or_by_its_table(dcb, bound_to, trust):
    found = network(nics=(nic(bound_to=bound_to),), dcb__eth1=dcb).netdev("eth1")
    assert found.priorities.trust == trust


def test_what_another_driver_trusts_is_not_guessed():
    assert network(nics=(nic(bound_to="bnxt_en"),)).netdev("eth1").priorities.trust.why == "error"


def test_a_card_whose_firmware_settles_its_priorities_says_so():
    assert network(dcb__eth1=DCB | {"dcbx": 12}).netdev("eth1").priorities.firmware_dcbx is True


def test_dcb_that_is_refused_leaves_what_the_vendors_driver_says():
    ecn = {"roce_np": {"3": "1", "4": "1"}, "roce_rp": {"3": "1", "4": "0"}}
    told = network(dcb__eth1=Unread("error", "DCB of eth1: operation not supported"), vendors__eth1={"trust": "dscp", "ecn": ecn})
    priorities = told.netdev("eth1").priorities
    assert (priorities.lossless.why, priorities.firmware_dcbx.why) == ("error", "error")
    assert (priorities.trust, priorities.ecn) == ("dscp", (3,))


@pytest.mark.parametrize(
    ("answers", "asked"),
    [
        ({}, True),
        ({"dcb__eth1": dict.fromkeys(DCB)}, True),
        ({"dcb__eth1": DCB | {"dcbx": 12}}, True),
        ({"vendors__eth1": {"trust": "dscp", "ecn": {}}}, True),
        ({"dcb__eth1": Unread("error", "the reading process ended in DCB of eth1")}, "error"),
        ({"dcb__eth1": Unread("denied", "apart")}, "denied"),
        ({"dcb__eth1": Unread("not-recorded", "")}, "not-recorded"),
        ({"vendors__eth1": Unread("timeout", "no answer in 1 s")}, "timeout"),
        ({"vendors__eth1": {"trust": Unread("error", "input/output error"), "ecn": {}}}, "error"),
    ],
)
def test_a_driver_that_does_not_know_was_asked_and_one_that_gave_no_answer_was_not(answers, asked):
    found = network(**answers).netdev("eth1").priorities.asked
    assert (found.why if isinstance(found, Unread) else found) == asked


def test_a_word_of_one_interface_that_is_unread_costs_that_alone():
    found = network(device__eth1=CARD | {"mtu": GAP, "sysctls": dict.fromkeys(OWN, GAP)}).netdev("eth1")
    assert (found.mtu.why, found.arp_ignore.why, found.state) == ("denied", "denied", "up")


def test_an_interface_that_went_while_it_was_read_is_none():
    assert [one.name for one in network(device__eth1=Unread("absent", "gone")).netdevs] == ["lo", "docker0", "veth1"]


def test_what_the_kernel_calls_it_counts_more_than_what_sysfs_shows():
    assert network(kinds={"veth1": "dummy"}).netdev("veth1").kind == "dummy"
    assert network(kinds=Unread("denied", "apart")).netdev("veth1").kind == "veth"


def test_a_virtual_function_hangs_at_its_physical_ones_interface():
    virtual = nic("0000:1a:01.0", virtual_of="0000:1a:00.0")
    answers = {"devices": ["eth1", "vf0"], "device__vf0": CARD | {"pci": "0000:1a:01.0", "ifindex": "5"}, "others": []}
    found = network(nics=(nic(), virtual), **answers)
    assert (found.netdev("vf0").kind, found.netdev("vf0").parent) == ("vf", "eth1")


@pytest.mark.parametrize(("device", "kind"), [("0x101e", "vf"), ("0x1021", "physical")])
def test_a_virtual_function_in_a_guest_is_known_by_its_id_and_has_no_priorities_of_its_own(device, kind):
    found = network(nics=(nic(device_id=device),)).netdev("eth1")
    assert found.kind == kind
    assert isinstance(found.priorities, Unread) == (kind == "vf")


def stacked():
    software = {"pci": "", "sysctls": OWN}
    bonding = {"mode": "802.3ad 4", "xmit_hash_policy": "layer3+4 1"}
    return network(
        nics=(nic(), nic("0000:1a:00.1")),
        devices=["bond0", "bond0.100", "eth1", "eth2"],
        others=[],
        device__eth1=CARD | {"master": "bond0"},
        device__eth2=CARD | {"master": "bond0", "ifindex": "4", "pci": "0000:1a:00.1"},
        device__bond0=CARD | software | {"ifindex": "6", "kind": "bond", "bonding": bonding, "lower": ["eth1", "eth2"]},
        **{"device__bond0.100": CARD | software | {"ifindex": "7", "kind": "vlan", "lower": ["bond0"]}},
    )


def test_a_vlan_on_a_bond_of_two_ports():
    found = stacked()
    vlan, bond = found.netdev("bond0.100"), found.netdev("bond0")
    assert (vlan.parent, vlan.bond_mode, bond.bond_mode, bond.ports) == ("bond0", "", "802.3ad 4", ("eth1", "eth2"))
    assert [one.name for one in below(found, vlan)] == ["bond0", "eth1", "eth2"]
    assert [one.name for one in cards(found, vlan)] == ["eth1", "eth2"]
    assert [one.name for one in stack(found, found.netdev("eth1"))] == ["bond0", "eth1"]


def test_a_ring_of_interfaces_ends():
    """No kernel has one; a tape may."""
    found = network(others=[], devices=["eth1"], device__eth1=CARD | {"kind": "vlan", "lower": ["eth1"]})
    assert below(found, found.netdev("eth1")) == ()


SHARED = [["eth1 eth2", "10.0.0.5", 24], ["eth1 eth2", "10.0.0.6", 24]]
TWO = {"devices": ["eth1", "eth2"], "others": [], "device__eth2": CARD | {"ifindex": "4", "pci": "0000:1b:00.0"}, "addresses": SHARED}


def test_gids_say_whose_address_it_is_where_the_tables_leave_it_open():
    found = network(ports=(gids(("eth1", "10.0.0.6"), ("eth2", "10.0.0.5")),), **TWO)
    assert (found.netdev("eth1").addresses, found.netdev("eth2").addresses) == ((Address("10.0.0.6", 24),), (Address("10.0.0.5", 24),))


def test_without_gids_it_stays_open():
    found = network(**TWO)
    assert found.netdev("eth1").addresses.why == found.netdev("eth2").addresses.why == "error"


def test_an_address_without_a_network_may_be_of_whoever_has_none():
    """A link that is down has no route; a tunnel's address is alone in its network."""
    rows = [["eth1", "10.0.0.5", 24], ["", "10.244.0.1", 32], ["lo", "127.0.0.1", 8]]
    found = network(addresses=rows)
    assert found.netdev("eth1").addresses == (Address("10.0.0.5", 24),)
    assert found.netdev("docker0").addresses.why == "error"
    assert found.netdev("lo").addresses == (Address("127.0.0.1", 8),)


@pytest.mark.parametrize("answer", [None, 7, "eth1", [7], [["eth1"]], [["eth1", "10.0.0.300", 24]], {}])
def test_addresses_of_a_wrong_shape_are_unread(answer):
    found = network(addresses=answer).netdev("eth1").addresses
    assert isinstance(found, Unread) or found == ()


@pytest.mark.parametrize("question", [key for key in TAPE if key != "network devices"])
@pytest.mark.parametrize("answer", [None, 7, "x", [7], [[]], {}, {"unread": 7}, ["a b"], Unread("timeout", "no answer")])
def test_no_answer_of_a_tape_crashes_the_reader(question, answer):
    network(**{question.removeprefix("network ").replace(" ", "__"): answer})


def test_a_host_whose_interfaces_cannot_be_listed_is_unread():
    found = network(devices=Unread("error", "two network namespaces"))
    assert found.netdevs.why == "error"
    with pytest.raises(UnreadError):
        found.netdev("eth1").mtu + 1


@pytest.mark.parametrize("prefix", [float("inf"), float("nan"), "9" * 5000])
def test_a_prefix_that_is_no_number_is_an_error(prefix):
    assert network(addresses=[["eth1", "10.0.0.5", prefix]]).netdev("eth1").addresses.why == "error"


@pytest.mark.parametrize("half", [1e308, [["3", "1"]], "3"])
def test_ecn_of_a_wrong_shape_is_unread(half):
    found = network(vendors__eth1={"trust": "dscp", "ecn": {"roce_np": {"3": "1"}, "roce_rp": half}}).netdev("eth1")
    assert found.priorities.ecn.why == "error"


def test_ecn_has_priorities_of_one_digit():
    halves = {half: {"3": "1", "": "1", "45": "1"} for half in ("roce_np", "roce_rp")}
    assert network(vendors__eth1={"trust": "dscp", "ecn": halves}).netdev("eth1").priorities.ecn == (3,)


def test_a_macvlan_of_a_pod_has_no_parent_here():
    found = network(others=["eth0 5 veth 2 1500 up 0x1003 /"], devices=["eth0"], kinds={"eth0": "macvlan"}).netdev("eth0")
    assert (found.kind, found.parent) == ("macvlan", "")


@within(4)
@pytest.mark.parametrize("names", [1, 50])
def test_thousands_of_interfaces_are_related_in_no_time(names):
    rows = [f"b{at} {at + 2} bridge {at + 2} 1500 up 0x1003 /" for at in range(2000)]
    rows += [f"v{at} {at + 9000} veth 8 1500 up 0x1003 b{at}" for at in range(2000)]
    every = [row.split()[0] for row in rows]
    addresses = [[" ".join(every[at : at + names]), f"10.0.{at // 256}.{at % 256}", 24] for at in range(len(every))]
    found = network(devices=every, others=rows, addresses=addresses)
    assert [one.ports for one in found.netdevs[:2]] == [("v0",), ("v1",)]
