"""Which slot of a GID table NCCL takes. Real tables, as show_gids prints them."""

from dataclasses import fields

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.network.gids import Asked, at_index, chosen, chosen_as, chosen_before_2_21, is_routable
from hostagent.facts.rdma import Gid, RdmaPort

NOT_NAMED = Unread("not-recorded", "not named")
V1, V2 = "IB/RoCE v1", "RoCE v2"
LOCAL = "fe80:0000:0000:0000:9a03:9bff:feaa:bb00"
GLOBAL = "2001:0db8:0000:0000:9a03:9bff:feaa:bb00"
FOUR, OTHER_FOUR = "0000:0000:0000:0000:0000:ffff:0a00:0105", "0000:0000:0000:0000:0000:ffff:0a01:0105"


def port(*slots, **given):
    gids = tuple(Gid(index, value, kind, "eth0") for index, value, kind in slots)
    base = {"name": "mlx5_0:1", "driver": "mlx5_core", "link_layer": "Ethernet", "gids": gids}
    return RdmaPort(**{field.name: NOT_NAMED for field in fields(RdmaPort)} | base | given)


USUAL = ((0, LOCAL, V1), (1, LOCAL, V2), (2, FOUR, V1), (3, FOUR, V2))


@pytest.mark.parametrize(
    ("slots", "index"),
    [
        (USUAL, 3),
        (((0, LOCAL, V1), (1, LOCAL, V2), (2, FOUR, V1), (3, FOUR, V2), (4, OTHER_FOUR, V1), (5, OTHER_FOUR, V2)), 3),
        (((0, LOCAL, V1), (1, LOCAL, V2), (4, FOUR, V1), (5, FOUR, V2)), 5),  # a VLAN, or a container
        (((2, FOUR, V1), (3, FOUR, V2)), 3),  # slot 0 is empty
        (((0, LOCAL, V1), (1, LOCAL, V2), (2, FOUR, V2), (3, OTHER_FOUR, V1)), 2),
        (((0, LOCAL, V1), (1, LOCAL, V2)), 0),  # no address: NCCL stays with v1
        (((0, LOCAL, V1), (1, LOCAL, V2), (2, GLOBAL, V1), (3, GLOBAL, V2)), 0),  # IPv6 alone: so it does here
        (((0, FOUR, V1), (1, FOUR, V2)), 1),
        (((0, LOCAL, V1), (1, FOUR, V1)), 1),
        (((3, FOUR, V2), (2, FOUR, V1), (0, LOCAL, V1)), 3),  # in whatever order they come
    ],
)
def test_nccl_takes_the_first_ipv4_address_and_then_roce_v2(slots, index):
    assert chosen(port(*slots)).index == index


def test_before_2_21_index_0_is_taken():
    assert chosen_before_2_21(port(*USUAL)).index == 0
    assert chosen_before_2_21(port(*USUAL[2:])).why == "absent"


def test_an_empty_table_has_none():
    assert chosen(port()).why == "absent"
    assert chosen(port((1, LOCAL, V2))).why == "absent"  # NCCL would take slot 0, which is empty


@pytest.mark.parametrize("given", [{"link_layer": "InfiniBand"}, {"link_layer": "Unknown"}, {"driver": "efa", "link_layer": "Ethernet"}])
def test_other_ports_have_no_gid_of_roce(given):
    assert chosen(port(*USUAL, **given)).why == chosen_before_2_21(port(*USUAL, **given)).why == "not-supported"


def test_what_is_unread_stays_so():
    assert chosen(port(gids=NOT_NAMED)) == NOT_NAMED
    assert chosen(port((0, LOCAL, V1), (2, FOUR, NOT_NAMED), (3, OTHER_FOUR, V2))) == NOT_NAMED
    with pytest.raises(UnreadError):
        is_routable(Gid(3, FOUR, NOT_NAMED, ""))


def test_routable_is_v2_of_an_address():
    assert [is_routable(gid) for gid in port(*USUAL, (4, GLOBAL, V2)).gids] == [False, False, False, True, True]


@pytest.mark.parametrize(
    ("slots", "asked", "index"),
    [
        (USUAL, Asked(is_v2=False), 2),
        (USUAL, Asked(addresses="10.0.1.0/24"), 3),
        (USUAL, Asked(addresses="192.168.0.0/16"), 0),  # nothing is of it: NCCL stays at index 0
        (USUAL, Asked(addresses="nonsense"), 3),  # which NCCL ignores
        ((*USUAL, (4, OTHER_FOUR, V1), (5, OTHER_FOUR, V2)), Asked(addresses="10.1.0.0/16"), 5),
        ((*USUAL, (4, GLOBAL, V1), (5, GLOBAL, V2)), Asked(is_ipv6=True), 5),
        (((0, GLOBAL, V1), (1, GLOBAL, V2)), Asked(is_ipv6=True, addresses="2001:db8::/32"), 1),
    ],
)
def test_settings_ask_for_another_gid(slots, asked, index):
    assert chosen_as(port(*slots), asked).index == index


def test_an_index_that_is_set_is_taken_as_it_stands():
    assert at_index(port(*USUAL), 2).type == V1
    assert at_index(port(*USUAL), 7).why == "absent"
    assert at_index(port(*USUAL, driver="efa"), 3).why == "not-supported"
