"""Which interfaces of software start a pass when they change: those that the last pass took."""

import time

import pytest

from hostagent.core.unread import Unread
from hostagent.daemon.events import Events, interfaces_of_readers, pairs_of
from hostagent.daemon.passes import Pass
from hostagent.daemon.schedule import BURST
from hostagent.engine.target import Evidence
from tests.unit.reports import judgement, report

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
    assert interfaces_of_readers(answers) == {"bond0", "eth0", "eth1", "br0", "vlan7", "eth9"}


def test_an_interface_with_an_address_in_a_network_is_taken_and_the_end_of_a_pods_veth_is_not():
    rows = [["veth0", "10.1.0.7", 24], ["br0:1", "10.2.0.1", 16], ["lo", "127.0.0.1", 8], ["gke1", "10.3.0.1", 32]]
    rows += [["cali1", "fe80::1", 64], ["d0 d1", "10.4.0.1", 24], ["v6", "2001:db8::1", 64]]
    assert interfaces_of_readers({**LISTED, ("network", "addresses"): rows}) == {"veth0", "br0", "lo", "d0", "d1", "v6"}


def test_a_pair_of_veths_is_part_of_the_host_where_both_ends_are_here():
    rows = ["lo 1 loopback 1 65536 unknown 0x9 /", "va 3 veth 4 1500 up 0x1003 /", "vb 4 veth 3 1500 up 0x1003 /"]
    rows += ["cali1 7 veth 2 1500 up 0x1003 /", "odd 9 veth", "dummy0 8 dummy 8 1500 up 0x83 /"]
    assert pairs_of({("network", "others"): rows}) == {("va", "3"), ("vb", "4")}
    assert pairs_of({("network", "others"): Unread("timeout")}) == frozenset()


@pytest.mark.parametrize("missing", list(LISTED))
@pytest.mark.parametrize("answer", [None, Unread("timeout")])
def test_where_they_could_not_be_listed_all_count(missing, answer):
    answers = {key: value for key, value in LISTED.items() if key != missing}
    assert interfaces_of_readers(answers if answer is None else {**answers, missing: answer}) is None


def test_passes_that_find_the_same_are_few_until_one_finds_something_else(tmp_path):
    events = Events(Evidence(host_root=str(tmp_path)), 60)
    well, sick = (Pass(report(judgement(outcome=outcome)), {}, 0.1) for outcome in ("pass", "fail"))
    events._trigger = "link"

    def may_begin():
        return events._buckets.ready("link") <= time.monotonic()

    for _ in range(BURST + 1):
        assert may_begin()
        events.passed(well, ())
    assert not may_begin()
    events.passed(sick, ())
    assert may_begin()


def test_what_a_signal_asks_for_is_seen_within_a_second(tmp_path):
    events = Events(Evidence(host_root=str(tmp_path)), 60)
    events.skipped()
    ticks = []

    def tick():
        ticks.append(1)
        if len(ticks) == 1:
            events.add_event("configuration")

    assert events.wait(None, tick) == "configuration"
    assert len(ticks) <= 3
