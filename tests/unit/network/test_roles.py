"""Which RDMA ports are rails: also those that are down or slow, and not those that serve storage, software or nobody."""

from dataclasses import fields

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.network.roles import natural, rail_ports, roles, taken_by
from hostagent.domains.topology.distance import Distances
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic

NOT_NAMED = Unread("not-recorded", "not named")
HUNG = Unread("timeout", "the card's firmware does not answer")
FLAT = Unread("not-supported", "a virtual machine does not show it")


def made(kind, **given):
    return kind(**{field.name: NOT_NAMED for field in fields(kind)} | given)


def port(name, pci, **given):
    device, _, number = name.partition(":")
    base = {
        "name": name, "device": device, "number": int(number), "pci": pci, "virtual_of": "", "driver": "mlx5_core", "node_type": "CA",
        "firmware": "28.39.1002", "board_id": "MT_0000000838", "link_layer": "InfiniBand", "state": "ACTIVE", "rate_gbps": 400.0,
    }  # fmt: skip
    return made(RdmaPort, **base | given)


def rails_of(ports, rows, hcas="", nics=()):
    distances = Distances({f"gpu{number}": row for number, row in enumerate(rows)}, {})
    found = roles(tuple(ports), nics, distances, hcas)
    assert set(found) == {one.name for one in ports}
    return {name.partition(":")[0] for name, role in found.items() if not isinstance(role, Unread) and role == "rail"}


def gaps_of(ports, rows):
    found = roles(tuple(ports), (), Distances({f"gpu{number}": row for number, row in enumerate(rows)}, {}), "")
    return {name.partition(":")[0] for name, role in found.items() if isinstance(role, Unread)}


def cards(count, *, first=0, **given):
    return [port(f"mlx5_{number}:1", f"0000:{0x10 + number:02x}:00.0", **given) for number in range(first, first + count)]


def near(ports, gpus, word="PXB", far="SYS"):
    """Each GPU has its own card."""
    return [{one.pci: word if index == number else far for index, one in enumerate(ports)} for number in range(gpus)]


STORAGE = {"link_layer": "Ethernet", "rate_gbps": 200.0, "board_id": "MT_0000000359"}
EIGHT = {f"mlx5_{number}" for number in range(8)}


def test_the_nearest_ports_are_rails_and_storage_far_away_is_none():
    ports = cards(8) + cards(2, first=8)
    assert rails_of(ports, near(ports, 8)) == EIGHT


def test_storage_at_equal_distance_is_another_network():
    ports = cards(8) + cards(2, first=8, **STORAGE)
    rows = [row | {one.pci: "PXB" for one in ports[8:]} for row in near(ports, 8)]
    assert rails_of(ports, rows) == EIGHT


def test_many_slow_ports_are_no_majority_over_the_fast_ones():
    ports = cards(2) + cards(6, first=2, link_layer="Ethernet", rate_gbps=25.0, board_id="other")
    assert rails_of(ports, [{one.pci: "NODE" for one in ports}] * 2) == {"mlx5_0", "mlx5_1"}


@pytest.mark.parametrize(
    "fault",
    [{"state": "DOWN", "rate_gbps": 10.0}, {"rate_gbps": 100.0}, {"state": "INIT"}],
    ids=["down", "slow", "without a subnet manager"],
)
@pytest.mark.parametrize("word", ["PXB", "NODE"])
def test_a_faulty_rail_stays_a_rail(fault, word):
    ports = cards(7) + cards(1, first=7, **fault)
    assert rails_of(ports, near(ports, 8, word, far="NODE")) == EIGHT
    assert rails_of(ports, [{one.pci: FLAT for one in ports}] * 8) == EIGHT


def test_where_all_are_down_all_are_rails():
    ports = cards(8, state="DOWN", rate_gbps=10.0)
    assert rails_of(ports, near(ports, 8)) == EIGHT


def dual(card, number, **given):
    return port(f"mlx5_{2 * card + number}:1", f"0000:{0x10 + card:02x}:00.{number}", **given)


def test_the_second_port_without_a_cable_is_no_rail():
    ports = [one for card in range(4) for one in (dual(card, 0), dual(card, 1, state="DOWN", rate_gbps=10.0))]
    rows = [{one.pci: "PXB" if one.pci[:10] == f"0000:{0x10 + gpu:02x}:00"[:10] else "SYS" for one in ports} for gpu in range(4)]
    assert rails_of(ports, rows) == {"mlx5_0", "mlx5_2", "mlx5_4", "mlx5_6"}
    assert rails_of(ports[:2], rows[:1]) == {"mlx5_0"}
    assert rails_of(ports, [{one.pci: FLAT for one in ports}] * 4) == {"mlx5_0", "mlx5_2", "mlx5_4", "mlx5_6"}


def test_the_second_port_is_a_rail_where_it_is_one_on_most_cards():
    ports = [one for card in range(4) for one in (dual(card, 0), dual(card, 1, **({"state": "DOWN"} if card == 3 else {})))]
    rows = [{one.pci: "PXB" if one.pci[5:7] == f"{0x10 + gpu:02x}" else "SYS" for one in ports} for gpu in range(4)]
    assert rails_of(ports, rows) == EIGHT


def test_a_machine_without_distances_takes_the_majority_of_all():
    """Azure ND v5: eight virtual functions of InfiniBand, and one of accelerated networking."""
    ports = [*cards(8), port("mlx5_an0:1", "0002:00:02.0", link_layer="Ethernet", rate_gbps=100.0, board_id="")]
    assert rails_of(ports, [{one.pci: FLAT for one in ports}] * 8) == EIGHT
    assert {name for name, role in roles(tuple(ports), (), FLAT, "").items() if role == "rail"} == {f"mlx5_{n}:1" for n in range(8)}


def test_efa_has_rails_of_its_own_kind():
    efa = {"driver": "efa", "node_type": "unspecified", "link_layer": "Unknown", "rate_gbps": 100.0, "board_id": "", "firmware": ""}
    ports = [port(f"rdmap{n}s0:1", f"0000:{0x10 + n:02x}:00.0", **efa) for n in range(4)]
    assert len(rails_of(ports, [{one.pci: FLAT for one in ports}])) == 4


def test_software_and_iwarp_are_no_rails():
    ports = [
        port("rxe0:1", "", rate_gbps=2.5, link_layer="Ethernet"),
        port("rxe1:1", "0000:10:00.0", firmware="", board_id="", link_layer="Ethernet"),
        port("irdma0:1", "0000:11:00.0", node_type="RNIC", link_layer="Ethernet"),
    ]
    assert rails_of(ports, [{"0000:10:00.0": "PIX", "0000:11:00.0": "PIX"}]) == set()


def test_a_device_of_software_takes_no_rail_away():
    ports = cards(2)
    soft = port("rxe0:1", "", link_layer="Ethernet", rate_gbps=100.0, firmware="", board_id="")
    assert rails_of([*ports, soft], near(ports, 2)) == {"mlx5_0", "mlx5_1"}


def test_virtual_functions_are_rails_where_their_physical_ones_cannot_be_seen():
    physical = cards(2)
    virtual = [port(f"mlx5_{n + 2}:1", f"0000:{0x10 + n:02x}:00.2", virtual_of=f"0000:{0x10 + n:02x}:00.0") for n in range(2)]
    rows = near(physical, 2)
    assert rails_of(physical + virtual, rows) == {"mlx5_0", "mlx5_1"}
    assert rails_of(virtual, rows) == {"mlx5_2", "mlx5_3"}


def test_a_host_without_gpus_has_no_rails():
    assert rails_of(cards(2), []) == set()


def test_the_profile_has_the_last_word():
    ports = cards(2) + cards(1, first=2, **STORAGE)
    assert rails_of(ports, near(ports, 2), hcas="=mlx5_2") == {"mlx5_2"}
    assert rails_of(ports, near(ports, 2), hcas="^mlx5_2") == {"mlx5_0", "mlx5_1"}


def test_a_port_that_hangs_is_unknown_and_the_others_are_not():
    ports = cards(7) + cards(1, first=7, state=HUNG, rate_gbps=HUNG, link_layer=HUNG)
    rows = near(ports, 8)
    assert rails_of(ports, rows) == EIGHT - {"mlx5_7"}
    assert gaps_of(ports, rows) == {"mlx5_7"}
    with pytest.raises(UnreadError):
        rail_ports(tuple(ports), (), Distances({str(n): row for n, row in enumerate(rows)}, {}), "")


def test_a_port_without_its_files_is_unknown_and_does_not_skip_the_host():
    ports = cards(7) + cards(1, first=7, state=Unread("absent", "ports/1/state: no such file or directory"))
    with pytest.raises(UnreadError) as raised:
        rail_ports(tuple(ports), (), Distances({str(n): row for n, row in enumerate(near(ports, 8))}, {}), "")
    assert raised.value.unread.why == "error"


def test_what_is_unread_could_be_the_majority():
    ports = cards(2) + cards(3, first=2, rate_gbps=HUNG)
    assert gaps_of(ports, near(ports, 5)) == {f"mlx5_{n}" for n in range(5)}


def test_a_distance_that_could_not_be_read_leaves_open_what_is_nearest():
    ports = cards(2)
    denied = Unread("denied", "open")
    assert gaps_of(ports, [{one.pci: denied for one in ports}]) == {"mlx5_0", "mlx5_1"}
    assert rails_of(ports, [{one.pci: denied for one in ports}, *near(ports, 1)]) == {"mlx5_0"}
    assert [role.why for role in roles(tuple(ports), (), denied, "").values()] == ["denied", "denied"]


def test_boards_are_told_apart_by_pci_ids_where_the_driver_names_none():
    ports = cards(3, board_id="") + cards(1, first=3, board_id="", state="DOWN", rate_gbps=10.0)
    rows = near(ports, 4)

    def nics(last):
        ids = [*["0x1021"] * 3, last]
        return tuple(made(Nic, pci=one.pci, vendor_id="0x15b3", device_id=found) for one, found in zip(ports, ids, strict=True))

    assert "mlx5_3" in rails_of(ports, rows, nics=nics("0x1021"))
    assert "mlx5_3" not in rails_of(ports, rows, nics=nics("0x101d"))


def test_rails_come_in_the_order_of_their_numbers():
    ports = list(reversed(cards(11)))
    row = {one.pci: "PXB" for one in ports}
    assert [one.device for one in rail_ports(tuple(ports), (), Distances({"gpu": row}, {}), "")] == [f"mlx5_{n}" for n in range(11)]


@pytest.mark.parametrize(
    ("hcas", "device", "number", "taken"),
    [
        ("mlx5", "mlx5_0", 1, True),
        ("mlx5_1:2", "mlx5_1", 1, False),
        ("mlx5_1:2", "mlx5_1", 2, True),
        ("=mlx5_0,mlx5_3:1", "mlx5_3", 1, True),
        ("=mlx5_0,mlx5_3:1", "mlx5_30", 1, False),
        ("^mlx5_bond", "mlx5_bond_0", 1, False),
        ("^=mlx5_1", "mlx5_10", 1, True),
        ("=", "mlx5_0", 1, True),
        ("^", "mlx5_0", 1, False),
        (",mlx5_0,", "mlx5_0", 1, True),
        ("=mlx5_0", "mlx5_0_x", 1, False),
    ],
)
def test_the_syntax_of_nccl_ib_hca(hcas, device, number, taken):
    assert taken_by(hcas, device, number) is taken


def nics_of(ports, device="0x16d6", vendor="0x14e4"):
    return tuple(made(Nic, pci=one.pci, vendor_id=vendor, device_id=device) for one in ports)


def test_ordinary_ethernet_cards_are_no_rails():
    ports = cards(2, link_layer="Ethernet", rate_gbps=25.0, board_id="", driver="bnxt_en")
    rows = [{one.pci: "NODE" for one in ports}]
    assert rails_of(ports, rows, nics=nics_of(ports)) == set()
    assert rails_of(ports, rows, nics=nics_of(ports, "0x1017", "0x15b3")) == {"mlx5_0", "mlx5_1"}  # ConnectX-5 is made for it
    assert rails_of(ports, rows, nics=nics_of(ports, NOT_NAMED)) == {"mlx5_0", "mlx5_1"}  # nobody knows
    assert rails_of(ports, rows, nics=nics_of(ports), hcas="mlx5") == {"mlx5_0", "mlx5_1"}


def test_an_unknown_card_is_a_rail_where_its_like_is_fast():
    ports = cards(7, link_layer="Ethernet", rate_gbps=400.0, board_id="", driver="bnxt_en")
    ports += cards(1, first=7, link_layer="Ethernet", rate_gbps=2.5, state="DOWN", board_id="", driver="bnxt_en")
    assert rails_of(ports, near(ports, 8), nics=nics_of(ports, "0x1760")) == EIGHT


def test_a_nic_of_which_the_firmware_says_no_node_is_no_nearer_than_a_switch():
    ports = cards(8) + cards(1, first=8)
    rows = [row | {ports[8].pci: FLAT} for row in near(ports, 8)]
    assert rails_of(ports, rows) == EIGHT
    assert len(rails_of(ports, [{one.pci: "NODE" for one in ports[:8]} | {ports[8].pci: FLAT}] * 8)) == 9


def test_bonds_are_rails():
    ports = [port(f"mlx5_bond_{n}:1", f"0000:{0x10 + n:02x}:00.0", link_layer="Ethernet", rate_gbps=200.0) for n in range(4)]
    assert len(rails_of(ports, near(ports, 4))) == 4


def test_names_are_sorted_by_their_numbers_however_long_those_are():
    long = f"mlx5_{'9' * 5000}:1"
    assert sorted([long, "mlx5_10:1", "mlx5_02:1", "mlx5_1:1"], key=natural) == ["mlx5_1:1", "mlx5_02:1", "mlx5_10:1", long]
