"""Changes of links by rtnetlink: real ones, of veth pairs in a network namespace of their own, and bytes that no kernel sends."""

import ctypes
import json
import os
import socket
import struct
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.errors import HostagentError
from hostagent.domains.network import read_link_events
from hostagent.domains.network.read_link_events import LinkEvents, parse_link
from hostagent.host.paths import Root
from tests.real.conftest import need_real

_HOW = "apt-get install iproute2"
_NEWNET = 0x40000000
_NEW, _DEL = 16, 17
is_root = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces: run the tests as root")


@pytest.fixture
def ip():
    """Commands of ip(8) in a network namespace that this thread is in meanwhile."""
    need_real("ip", _HOW)
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    assert libc.unshare(_NEWNET) == 0

    def run(*lines):
        subprocess.run(["ip", "-batch", "-"], input="\n".join(lines) + "\n", text=True, check=True)

    try:
        yield run
    finally:
        assert libc.setns(before, _NEWNET) == 0
        os.close(before)


@pytest.fixture
def links(ip):
    ip("link add va type veth peer name vb", "link set va up", "link set vb up")
    found = LinkEvents(Root("/"))
    assert found.problem == ""
    settle(found)
    return found


def settle(links, taken=None):
    """The kernel announces an operational state up to a second later. Whether something counted."""
    found = False
    for _ in range(14):
        found = links.look(taken) or found
        time.sleep(0.1)
    return found


@is_root
@pytest.mark.parametrize(
    "change", ["link set vb down", "link set va mtu 1400", "link set va name vc", "link del va"], ids=lambda line: line.partition(" ")[2]
)
def test_a_change_of_a_taken_interface_counts(ip, links, change):
    assert not links.look({"va"})
    ip(change)
    assert settle(links, {"va"})
    assert not links.look({"va"})


@is_root
def test_what_no_collector_took_does_not_count_whatever_happens_to_it(ip, links):
    ip(*(line for number in range(20) for line in (f"link add p{number} type veth peer name q{number}", f"link set p{number} up")))
    ip("link set va down", "link set va mtu 1400", *(f"link del p{number}" for number in range(20)))
    assert not settle(links, {"lo", "eth0"})


@is_root
def test_a_port_of_a_bridge_is_no_device(ip, links):
    """The bridge sends messages of its own about its ports, without their kind."""
    ip("link add br0 type bridge", "link set va master br0", "link set br0 up", "link set va nomaster", "link del br0")
    assert not settle(links, set())


@is_root
def test_a_name_that_is_taken_counts_before_and_after_a_renaming(ip, links):
    ip("link set va name vc")
    assert settle(links, {"vc"})


@is_root
def test_a_change_and_its_reverse_count_though_it_was_not_taken_before(ip, links):
    ip("link set va mtu 1400")
    assert not links.look(set())
    ip("link set va mtu 1500")
    assert links.look({"va"})


@is_root
def test_what_only_repeats_the_state_does_not_count(ip, links):
    ip("link set va mtu 1500", "link set va alias x", "link set va txqueuelen 900")
    assert not settle(links, {"va"})


@is_root
def test_where_the_taken_are_not_known_each_change_counts(ip, links):
    ip("link add p type veth peer name q")
    assert links.look(None)


@is_root
def test_more_messages_than_the_socket_holds_are_an_event(ip, links):
    with socket.socket(fileno=os.dup(links.descriptor)) as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    ip(*(f"link set va mtu {1400 + number}" for number in range(40)))
    assert links.look(set())
    assert links.problem == ""
    assert not settle(links, set())


@is_root
def test_messages_of_other_processes_are_none(ip, links):
    with socket.socket(fileno=os.dup(links.descriptor)) as line:
        port, _ = line.getsockname()
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as forger:
        forger.sendto(message(_NEW, 99, name="forged"), (port, 0))
    assert not links.look(None)


@is_root
def test_links_of_the_host_are_read_from_another_namespace_and_the_process_stays_in_its_own():
    need_real("ip", _HOW)
    argv = [
        "unshare",
        "--net",
        "--mount",
        "--pid",
        "--fork",
        "--mount-proc",
        sys.executable,
        "-m",
        "tests.unit.network.linkevents_inside",
        "host",
    ]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert completed.returncode == 0, completed.stderr
    found = json.loads(completed.stdout)
    for way in ("privileged", "no-admin", "no-ptrace"):
        assert found[way]["before"] == found[way]["after"] != found["own"]
    assert (found["privileged"]["sees"], found["privileged"]["problem"]) == (True, "")
    for way in ("no-admin", "no-ptrace"):
        assert not found[way]["sees"]
        assert "links of the host cannot be watched" in found[way]["problem"]
    assert (found["host-network"]["sees"], found["host-network"]["problem"]) == (True, ""), "no right is needed there"


@is_root
def test_a_process_that_cannot_return_to_its_namespace_ends(monkeypatch):
    entered = []

    def enter(descriptor):
        entered.append(descriptor)
        if len(entered) == 2:
            raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(read_link_events, "enter_network_namespace", enter)
    monkeypatch.setattr(
        "hostagent.domains.network.read_network_answers.open_network_namespace", lambda _: os.open("/proc/self/ns/net", os.O_RDONLY)
    )
    monkeypatch.setattr("hostagent.domains.network.read_network_answers.namespace", lambda _: type("Other", (), {"unasked": "another"}))
    with pytest.raises(HostagentError, match="network namespace"):
        LinkEvents(Root("/"))


def attribute(kind, value):
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def message(number, index, *, name="", kind="", flags=0x43, mtu=1500, family=0, extra=b""):
    """As the kernel sends RTM_NEWLINK and RTM_DELLINK."""
    body = struct.pack("=BxHiII", family, 1, index, flags, 0)
    body += attribute(3, name.encode() + b"\0") if name else b""
    body += attribute(4, struct.pack("=I", mtu)) + extra
    body += attribute(18, attribute(1, kind.encode() + b"\0")) if kind else b""
    return struct.pack("=IHHII", 16 + len(body), number, 0, 0, 0) + body


@pytest.fixture
def closed(monkeypatch):
    """Without a socket: messages are given to it."""
    return unopened(monkeypatch)


def unopened(monkeypatch):
    def refused(_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(read_link_events, "_opened", refused)
    found = LinkEvents(Root("/"))
    assert found.descriptor == -1
    assert "links of the host cannot be watched" in found.problem
    assert not found.look(None)
    return found


def test_an_interface_of_a_device_counts_whoever_took_it(closed):
    assert closed.counts(message(_NEW, 2, name="eth0"), set())
    assert not closed.counts(message(_NEW, 2, name="eth0"), set())
    assert closed.counts(message(_NEW, 2, name="eth0", flags=3), set())
    assert closed.counts(message(_NEW, 2, name="eth0", flags=3, mtu=9000), set())
    assert closed.counts(message(_DEL, 2, name="eth0", flags=3, mtu=9000), set())


def test_each_message_of_a_datagram_is_remembered(closed):
    both = message(_NEW, 2, name="eth0") + message(_NEW, 3, name="eth1")
    assert closed.counts(both, set())
    assert not closed.counts(both, set())


def test_a_message_of_a_family_or_of_another_type_is_none(closed):
    assert not closed.counts(message(_NEW, 2, name="eth0", family=socket.AF_INET6), None)
    assert not closed.counts(message(20, 2, name="eth0"), None)


def test_an_interface_of_software_without_a_name_counts(closed):
    assert closed.counts(message(_NEW, 2, kind="veth"), set())


def test_what_is_remembered_is_bounded(closed):
    for index in range(20_000):
        closed.counts(message(_NEW, index, name=f"v{index}", kind="veth"), set())
    assert len(closed._links) <= 8192


@given(st.binary(max_size=200))
def test_hostile_bytes_raise_nothing(data):
    with pytest.MonkeyPatch.context() as patch:
        found = unopened(patch)
    for known in (b"", message(_NEW, 2, name="v2", kind="veth")):
        found.counts(known, set())
        for one in (data, message(_NEW, 2, name="v2", kind="veth")[: len(data)] + data, message(_NEW, 2, extra=data), known + data):
            assert found.counts(one, {"v1"}) in (True, False)


@given(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=15), st.integers(0, 2**31), st.booleans())
def test_what_was_packed_is_parsed(name, mtu, is_software):
    packed = message(
        _NEW, 7, name=name, mtu=mtu, kind="veth" if is_software else "", extra=attribute(10, b"\5\0\0\0") + attribute(16, b"\6")
    )
    link = parse_link(packed[16:])
    assert link == (name, is_software, (0x43, struct.pack("=I", mtu), b"\6", b"\5\0\0\0"))
