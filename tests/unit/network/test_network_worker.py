"""The network lane on made trees: what it does not understand, and what is not to be opened, is unread, and nothing else is lost."""

import contextlib
import fcntl
import os
import time

import pytest

from hostagent.core.unread import Unread
from hostagent.domains.network import read_interfaces as read
from hostagent.domains.network.read_network_answers import namespace
from hostagent.domains.network.read_network_worker import NETWORK
from hostagent.host.paths import Root
from hostagent.sandbox.worker import Worker
from hostagent.sandbox.worker_spec import CALL_S
from tests.trees import netdevs
from tests.trees.netdevs import Netdev
from tests.trees.tree import Tree

pytestmark = pytest.mark.alone


@pytest.fixture
def tree(tmp_path):
    made = Tree(tmp_path / "host", kernel="6.8.0", driver="")
    netdevs.namespace(made)
    return made


def asked(tree, *questions):
    worker = Worker(NETWORK, str(tree.root))
    worker.start()
    try:
        return [worker.ask("network", *question.split(" ")) for question in questions]
    finally:
        worker.close()


def test_interfaces_of_software_are_one_line_each(tree):
    netdevs.bridge(tree, Netdev("docker0", addresses=("172.17.0.1/16",)))
    netdevs.add(tree, Netdev("veth1", link=99, master="docker0"))
    names, rows, addresses = asked(tree, "devices", "others", "addresses")
    assert names == ["docker0", "lo", "veth1"]
    assert rows[0].startswith("docker0 2 bridge 2 1500 up 0x")
    assert rows[2].split(" ")[2:4] == ["veth", "99"]
    assert rows[2].endswith(" docker0")
    assert ["docker0", "172.17.0.1", 16] in addresses


def test_a_vlan_on_a_bond_is_told_in_full(tree):
    netdevs.add(tree, Netdev("ens1"))
    netdevs.bond(tree, Netdev("bond0", mtu=9000), ("ens1",))
    netdevs.vlan(tree, Netdev("bond0.100", mtu=9000), "bond0", 100)
    bond, vlan = asked(tree, "device bond0", "device bond0.100")
    assert (bond["kind"], bond["bonding"]) == ("bond", {"mode": "802.3ad 4", "xmit_hash_policy": "layer3+4 1"})
    assert (vlan["kind"], vlan["lower"], vlan["sysctls"]["arp_ignore"]) == ("vlan", ["bond0"], "0")


def test_what_is_no_file_is_not_opened(tree):
    """A FIFO would wait for who writes into it; a link leads elsewhere."""
    netdevs.add(tree, Netdev("eth0"))
    home = tree.at("/sys/class/net/eth0/mtu").parent
    (home / "mtu").unlink()
    os.mkfifo(home / "mtu")
    (home / "operstate").unlink()
    (home / "operstate").symlink_to("/etc/shadow")
    (answer,) = asked(tree, "device eth0")
    assert (answer["mtu"]["unread"][0], answer["operstate"]["unread"][0]) == ("error", "error")
    assert answer["ifindex"] == "2"


def test_a_tree_without_a_network_has_no_interfaces(tmp_path):
    made = Tree(tmp_path / "host", kernel="6.8.0", driver="")
    made.directory("/sys/class")
    names, listeners = asked(made, "devices", "listeners")
    assert names == []
    assert isinstance(listeners, Unread)


def test_names_with_odd_characters(tree):
    for name in ("a'b", "ö", 'x"y', "$(id)", "-rf", "a;b"):
        netdevs.add(tree, Netdev(name))
    names, rows = asked(tree, "devices", "others")
    assert set(names) >= {"a'b", "ö", 'x"y', "$(id)", "-rf", "a;b"}
    assert {row.split(" ")[0] for row in rows} == set(names)


def test_a_made_tree_is_not_held_for_this_machine(tree):
    kinds, settings = asked(tree, "kinds", "settings")
    assert kinds.why == "denied"
    assert settings["port_range"] == "32768 60999", "its own file"
    assert namespace(Root(str(tree.root))).unset is None
    assert namespace(Root("/")).unasked is None


def test_a_port_of_jobs_that_is_taken(tree):
    row = "   0: 00000000:733C 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 31337 1 0 100 0 0 10 0\n"
    tree.append("/proc/1/net/tcp", row)
    tree.write("/proc/77/comm", "python3\n")
    tree.link("/proc/77/fd/5", "socket:[31337]")
    assert asked(tree, "listeners") == [[[29500, "python3"]]]


def test_more_interfaces_than_any_host_has_are_told_by_no_name(tree):
    place = tree.at("/sys/class/net")
    for index in range(2100):
        (place / f"x{index}").mkdir()
    (names,) = asked(tree, "devices")
    assert (names.why, "2048" in names.detail) == ("error", True)


def test_a_card_that_does_not_tell_its_speed_costs_what_is_asked_of_cards_and_nothing_else(tree, monkeypatch):
    """The worker is forked with the function that sleeps, as a driver would that waits for its firmware."""
    netdevs.add(tree, Netdev("eth0", speed=100000), "/sys/devices/pci0000:00/0000:00:03.0")
    monkeypatch.setattr(read, "speed", lambda *_: time.sleep(60))
    started = time.monotonic()
    device, addresses, speed, settings = asked(tree, "device eth0", "addresses", "speed eth0", "settings")
    assert (device["pci"], device["mtu"]) == ("0000:00:03.0", "1500")
    assert isinstance(addresses, list)
    assert settings["port_range"] == "32768 60999"
    assert (speed.why, "speed" in speed.detail) == ("timeout", True)
    assert time.monotonic() - started < CALL_S + 15


def test_two_workers_at_a_time_wait_for_each_other():
    """By a lock of the lane's own: none reads where another one hangs."""
    if os.geteuid():
        pytest.skip("an ordinary user's lock lies in the directory of his session")
    first, second = Worker(NETWORK, "/"), Worker(NETWORK, "/", time.monotonic() + 1)
    with open("/run/hostagent/network.lock", "ab") if os.path.isdir("/run/hostagent") else contextlib.nullcontext() as held:
        if held is None:
            pytest.skip("found no /run/hostagent")
        fcntl.flock(held, fcntl.LOCK_EX)
        second.start()
        answer = second.ask("network", "devices")
        second.close()
    first.start()
    assert "lo" in first.ask("network", "devices")
    first.close()
    assert (answer.why, "another hostagent" in answer.detail) == ("timeout", True)
