"""The rails of one host: joined once for all checks of a run."""

import pytest

from hostagent.core.typed import build
from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.network import rails
from hostagent.domains.network.rails import JobRails, Rails
from hostagent.facts.rdma import RdmaPort
from hostagent.profiles.profile import load

GAP = Unread("timeout", "no answer")


def port(name):
    named = {"name": f"{name}:1", "device": name, "number": 1}
    return build(RdmaPort, named, "", lambda _: GAP)


def profile(hcas="mlx5", required="auto"):
    return load("default", site_file="/nonexistent", overlay={"rdma": {"hcas": hcas, "required": required}}).profile


def joined(ports, hcas="mlx5"):
    return Rails(ports, (), (), GAP, GAP, profile(hcas))


def test_the_ports_that_the_profile_names_are_the_rails_of_a_host():
    ports = (port("mlx5_0"), port("bnxt_re0"))
    assert (joined(ports).ports, joined(ports, "bnxt").ports) == (ports[:1], ports[1:])
    assert [Rails((), (), (), GAP, GAP, profile(required=word)).are_unused for word in ("no", "auto", "yes")] == [True, False, False]


def test_the_rails_of_a_host_are_looked_for_once(monkeypatch):
    calls = []
    own = rails.rail_ports
    monkeypatch.setattr(rails, "rail_ports", lambda *arguments: calls.append(1) or own(*arguments))
    one = joined((port("mlx5_0"),))
    assert one.ports is one.ports
    unknown = joined((port("mlx5_0"),), "")
    for _ in range(2):
        with pytest.raises(UnreadError) as raised:
            unknown.ports  # noqa: B018  looking is enough
        assert raised.value.unread == GAP
    assert len(calls) == 2


def test_a_setting_of_jobs_is_judged_by_the_rails_of_its_host_and_by_none_in_an_image():
    ports = (port("mlx5_0"),)
    assert JobRails(ports, joined(ports), profile()).ports == ports
    assert JobRails(Unread("not-running", "an image"), GAP, profile()).ports == ()
    assert JobRails((), GAP, profile()).ports == (), "without ports nothing else is needed"
    for unread in (JobRails(GAP, GAP, profile()), JobRails(ports, Unread("absent", "no GPU"), profile())):
        with pytest.raises(UnreadError):
            unread.ports  # noqa: B018
