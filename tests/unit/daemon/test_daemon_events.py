"""Which interfaces of software start a pass when they change: those that the last pass took."""

import pytest

from hostagent.daemon.events import Events, taken_of
from hostagent.evidence import Evidence
from hostagent.facts.unread import Unread

LISTED = {("network", "devices"): ["lo", "eth0"], ("network", "others"): ["lo 1 loopback 1 65536 unknown 0x9 /"]}


def test_interfaces_that_readers_ask_of_and_their_neighbours_are_taken():
    bond = {"lower": ["eth0", "eth1"], "master": "br0", "parent": ""}
    vlan = {"lower": ["bond0"], "master": {"unread": ["denied", ""]}, "parent": "bond0"}
    answers = {
        **LISTED,
        ("network", "device", "bond0"): bond,
        ("network", "device", "vlan7"): vlan,
        ("network", "device", "eth9"): Unread("error"),
        ("network", "speed", "eth7"): "100000",
    }
    assert taken_of(answers) == {"bond0", "eth0", "eth1", "br0", "vlan7", "eth9"}


@pytest.mark.parametrize("missing", list(LISTED))
@pytest.mark.parametrize("answer", [None, Unread("timeout")])
def test_where_they_could_not_be_listed_all_count(missing, answer):
    answers = {key: value for key, value in LISTED.items() if key != missing}
    assert taken_of(answers if answer is None else {**answers, missing: answer}) is None


def test_what_a_signal_asks_for_is_seen_within_a_second(tmp_path):
    events = Events(Evidence(host_root=str(tmp_path)), 60)
    events.skipped()
    ticks = []

    def tick():
        ticks.append(1)
        if len(ticks) == 1:
            events.heard("configuration")

    assert events.wait(None, tick) == "configuration"
    assert len(ticks) <= 3
