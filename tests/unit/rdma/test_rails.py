"""The rails of one host: joined once for all checks of a run, and never those of another host."""

import pytest

from hostagent.derived import rails
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.unread import Unread, UnreadError
from hostagent.typed import build

GAP = Unread("timeout", "no answer")


def port(name):
    named = {"name": f"{name}:1", "device": name, "number": 1}
    return build(RdmaPort, named, "", lambda _: GAP)


def asked(ports, hcas="mlx5"):
    return rails.of_host(rails.Wanted(ports, (), (), GAP, GAP, hcas))


def test_the_same_host_is_joined_once_and_another_one_is_not_taken_for_it(monkeypatch):
    joined = []
    own = rails.rail_ports
    monkeypatch.setattr(rails, "rail_ports", lambda *arguments: joined.append(1) or own(*arguments))
    first, again = (port("mlx5_0"),), (port("mlx5_0"),)
    for ports in (first, first, again, first):
        assert asked(ports) == ports
    assert len(joined) == 3, "an equal host is another one"
    assert asked(first, "bnxt") == ()
    assert len(joined) == 4, "another list of the profile is another question"


def test_what_nobody_knows_is_unread_each_time_it_is_asked_for():
    ports = (port("mlx5_0"),)
    for _ in range(2):
        with pytest.raises(UnreadError) as raised:
            asked(ports, "")
        assert raised.value.unread == GAP
