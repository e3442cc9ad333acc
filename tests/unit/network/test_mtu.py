"""Which MTU a job gets, whether all rails agree, and the one line that says so."""

from dataclasses import fields

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.network.mtu import active_mtu, agreement
from hostagent.facts.network import Netdev, Network
from hostagent.facts.rdma import Gid, RdmaPort

NOT_NAMED = Unread("not-recorded", "not named")
NO_LIBRARY = Unread("absent", "the host has no libibverbs")
GIDS = (Gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0105", "RoCE v2", "eth0"),)


def made(kind, /, **given):
    return kind(**{field.name: NOT_NAMED for field in fields(kind)} | given)


def roce(number, **given):
    base = {
        "name": f"mlx5_{number}:1", "driver": "mlx5_core", "link_layer": "Ethernet", "state": "ACTIVE", "rate_gbps": 400.0, "gids": GIDS,
        "netdev": f"eth{number}", "active_mtu": 4096, "max_mtu": 4096,
    }  # fmt: skip
    return made(RdmaPort, **base | given)


def ib(number, **given):
    return roce(number, **{"link_layer": "InfiniBand", "netdev": f"ib{number}", "gids": ()} | given)


def interface(name, mtu, **given):
    return made(Netdev, **{"name": name, "mtu": mtu, "master": "", "parent": "", "ports": ()} | given)


def network(*mtus):
    return made(Network, netdevs=tuple(interface(f"eth{number}", mtu) for number, mtu in enumerate(mtus)))


def test_rails_that_agree():
    found = agreement(tuple(roce(n) for n in range(8)), network(*[9000] * 8))
    assert found == (True, 9000, 4096, (), "8 rails RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: agree")


def test_one_rail_at_1500():
    ports = (*(roce(n) for n in range(7)), roce(7, active_mtu=1024))
    found = agreement(ports, network(*[9000] * 7, 1500))
    assert found[:4] == (False, 9000, 4096, ("mlx5_7:1",))
    assert found.text == "8 rails RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: disagree, mlx5_7:1 has netdev 1500, active 1024"


def test_1500_on_all_rails_agrees():
    found = agreement((roce(0, active_mtu=1024), roce(1, active_mtu=1024)), network(1500, 1500))
    assert (found.agree, found.netdev, found.active) == (True, 1500, 1024)


def test_an_active_mtu_below_what_the_interface_allows_is_odd():
    found = agreement((roce(0, active_mtu=1024), roce(1, active_mtu=1024)), network(9000, 9000))
    assert (found.agree, found.odd) == (False, ("mlx5_0:1", "mlx5_1:1"))
    assert found.text.endswith("disagree, mlx5_0:1 has netdev 9000, active 1024, and 1 more")
    assert agreement((roce(0, active_mtu=2048, max_mtu=2048),), network(9000)).agree is True


def test_without_libibverbs_it_is_derived_and_said_so():
    one = roce(0, active_mtu=NO_LIBRARY, max_mtu=NO_LIBRARY)
    assert active_mtu(one, network(4192)) == (4096, "derived")
    assert active_mtu(one, network(1500)) == (1024, "derived")
    assert agreement((one,), network(9000)).text == "1 rail RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096 (derived): agree"


@pytest.mark.parametrize("why", ["timeout", "error", "not-recorded"])
def test_a_call_that_failed_is_not_replaced_by_a_formula(why):
    found = agreement((roce(0), roce(1, active_mtu=Unread(why, "ibv_query_port"))), network(9000, 9000))
    assert found.agree.why == why
    assert found.text.endswith(": MTU is unknown, ibv_query_port")


def test_infiniband_has_no_formula_and_no_netdev():
    found = agreement((ib(0), ib(1)), network())
    assert found[:4] == (True, Unread("not-supported", "mlx5_0:1 is no RoCE port"), 4096, ())
    assert found.text == "2 rails InfiniBand 400 Gb/s, active MTU 4096: agree"
    unknown = agreement((ib(0, active_mtu=NO_LIBRARY),), network())
    assert unknown.agree.why == unknown.active.why == "absent"
    assert unknown.text == "1 rail InfiniBand 400 Gb/s: MTU is unknown, the host has no libibverbs"


def test_a_port_without_a_subnet_manager_has_none_yet():
    assert active_mtu(ib(0, state="INIT"), network()).value.why == "not-supported"
    assert agreement((ib(0), ib(1, state="DOWN", active_mtu=2048)), network()).agree is True


def test_an_interface_in_another_namespace_leaves_the_answer_to_the_port():
    ports = (roce(0, netdev=""), roce(1, netdev="eth9"))
    assert agreement(ports, network(9000)).agree is True
    assert agreement(tuple(roce(n, netdev="", active_mtu=NO_LIBRARY) for n in range(2)), network()).agree.why == "absent"


def test_a_port_whose_interface_a_pod_has_is_not_odd():
    found = agreement((roce(0), roce(1, netdev="", state="DOWN", active_mtu=256)), network(9000))
    assert (found.agree, found.odd) == (True, ())
    assert agreement((roce(0), roce(1, state="DOWN", active_mtu=1024)), network(9000, 1500)).odd == ("mlx5_1:1",)


def test_efa_sets_its_own():
    found = agreement((made(RdmaPort, name="rdmap0s6:1", driver="efa", link_layer="Unknown", rate_gbps=100.0),), network())
    assert found.agree.why == "not-supported"
    assert found.text == "1 rail EFA 100 Gb/s: their driver sets the MTU"


def test_no_rails():
    assert agreement((), network()).text == "no rails: the host has no RDMA port that jobs use"


def test_a_port_that_is_down_says_neither_rate_nor_kind():
    found = agreement((roce(0), roce(1), roce(2, state="DOWN", rate_gbps=40.0, gids=())), network(9000, 9000, 9000))
    assert found.text == "3 rails RoCE v2 400 Gb/s, netdev MTU 9000, active MTU 4096: agree"
    assert agreement((roce(0, gids=(), state="DOWN"),), network(9000)).text == "1 rail RoCE, netdev MTU 9000, active MTU 4096: agree"


def test_different_rates_are_shown():
    assert agreement((ib(0), ib(1, rate_gbps=100.0)), network()).text.startswith("2 rails InfiniBand 100 to 400 Gb/s, ")


def test_an_interface_below_that_is_smaller_is_no_agreement():
    def bonded(smallest):
        upper = interface("bond0", 9000, ports=("eth0", "eth1"), kind="bond")
        return made(Network, netdevs=(upper, *(interface(f"eth{at}", mtu, master="bond0") for at, mtu in enumerate((9000, smallest)))))

    assert agreement((roce(0, netdev="bond0"),), bonded(9000)).agree is True
    found = agreement((roce(0, netdev="bond0"),), bonded(1500))
    assert (found.agree, found.odd) == (False, ("mlx5_0:1",))
    assert found.text.endswith("disagree, mlx5_0:1 has netdev 9000, active 4096, an interface below with less")


def test_other_ports_of_a_bridge_lead_to_others():
    own, tap = interface("eth0", 9000, master="br0"), interface("tap0", 1500, master="br0")
    known = made(Network, netdevs=(interface("br0", 9000, kind="bridge", ports=("eth0", "tap0")), own, tap))
    assert agreement((roce(0),), known).agree is True
