"""The join of RoCE rails and their interfaces, which the checks of the network share."""

from dataclasses import fields

import pytest

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.network.rails import Rails
from hostagent.engine.check import NotApplicable
from hostagent.facts.network import Netdev, Network
from hostagent.facts.rdma import RdmaPort
from hostagent.profiles.profile import load
from hostagent_checks.network._rails import RoceRails

UNKNOWN = Unread("not-recorded", "not named")
PROFILE = load("default", site_file="/nonexistent", overlay={"rdma": {"hcas": "mlx5"}}).profile


def made(kind, **given):
    return kind(**{field.name: UNKNOWN for field in fields(kind)} | given)


def port(number, **given):
    named = {"name": f"mlx5_{number}:1", "device": f"mlx5_{number}", "number": 1, "link_layer": "Ethernet", "driver": "mlx5_core"}
    return made(RdmaPort, **named | given)


def joined(*ports, names=("eth0",)):
    network = made(Network, netdevs=tuple(made(Netdev, name=name) for name in names))
    return RoceRails(network, Rails(ports, (), (), UNKNOWN, UNKNOWN, PROFILE))


def test_each_roce_port_has_its_interface_and_one_that_is_not_known_hides_no_other():
    roce = joined(port(0, netdev="eth0"), port(1), port(2, netdev=""), port(3, link_layer="InfiniBand"))
    assert [(one.name, one.netdev.name) for one in roce.known] == [("mlx5_0:1", "eth0")]
    assert roce.gaps == (UNKNOWN,)
    with pytest.raises(UnreadError):
        roce.end()


def test_a_host_without_roce_is_skipped_each_time():
    roce = joined(port(0, link_layer="InfiniBand"))
    for _ in range(2):
        with pytest.raises(NotApplicable):
            roce.known  # noqa: B018  looking is enough
