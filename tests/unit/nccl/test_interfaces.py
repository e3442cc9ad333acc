"""Which interface the bootstrap takes: what real NCCL answered, kept for machines without it, and what holds for any set of interfaces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.domains.nccl.interfaces import Address, bootstrap, in_kernel_order
from hostagent.domains.nccl.name_list import parse_names

OLD, NEW = (2, 18, 3), (2, 32, 3)
LO = Address("lo", 1, "127.0.0.1", 8, running=True)
HOST = (
    LO,
    Address("eth0", 2, "10.0.0.5", 24, running=True),
    Address("ens1f0", 3, "10.0.1.5", 24, running=True),
    Address("docker0", 4, "172.17.0.1", 16, running=False),
    Address("lo", 1, "::1", 128, running=True),
    Address("ens1f0", 3, "fd00::5", 64, running=True),
)

#: settings, version, what NCCL said it uses
ROWS = [
    ({}, NEW, "eth0:10.0.0.5"),
    ({"NCCL_SOCKET_IFNAME": "ens"}, NEW, "ens1f0:10.0.1.5"),
    ({"NCCL_SOCKET_IFNAME": "=ens"}, NEW, ""),
    ({"NCCL_SOCKET_IFNAME": "ens1f0,eth0"}, NEW, "eth0:10.0.0.5"),  # the order of a list is no preference
    ({"NCCL_SOCKET_IFNAME": "^docker0"}, NEW, "lo:127.0.0.1"),  # nobody excludes lo then
    ({"NCCL_SOCKET_IFNAME": "e"}, NEW, "eth0:10.0.0.5"),  # one character is none
    ({"NCCL_SOCKET_IFNAME": "docker0"}, OLD, "docker0:172.17.0.1"),
    ({"NCCL_SOCKET_IFNAME": "docker0"}, NEW, ""),  # it is not RUNNING
    ({"NCCL_SOCKET_IFNAME": "eth0 "}, NEW, ""),
    ({"NCCL_SOCKET_IFNAME": "=^eth0"}, NEW, ""),
    ({"NCCL_SOCKET_IFNAME": "eth0:1"}, NEW, "eth0:10.0.0.5"),
    ({"NCCL_SOCKET_FAMILY": "AF_INET6"}, NEW, "ens1f0:fd00::5"),
    ({"NCCL_SOCKET_FAMILY": "af_inet6"}, NEW, "eth0:10.0.0.5"),
    ({"NCCL_COMM_ID": "10.0.1.9:29500", "NCCL_SOCKET_IFNAME": "eth0"}, NEW, "ens1f0:10.0.1.5"),
    ({"NCCL_COMM_ID": "172.17.0.9:1"}, NEW, "docker0:172.17.0.1"),  # RUNNING or not
    ({"NCCL_COMM_ID": "192.168.0.1:1"}, NEW, ""),
    ({"NCCL_COMM_ID": ""}, NEW, ""),
    ({"NCCL_COMM_ID": "10.0.1.9:29500"}, (2, 29, 7), "lo:127.0.0.1"),  # 2.29 compares IPv4 the wrong way round
    ({"NCCL_COMM_ID": "[fd00::9]:29500"}, (2, 29, 7), "ens1f0:fd00::5"),
]


@pytest.mark.parametrize(("settings", "version", "wanted"), ROWS)
def test_the_bootstrap_takes_what_nccl_took(settings, version, wanted):
    choice = bootstrap(HOST, settings, version)
    assert (f"{choice.interface}:{choice.value}" if choice.value else "") == wanted


@pytest.mark.parametrize("name", ["rank0.job.svc:29500", "localhost:1", "10.1:5", "[fd00::x]:1"])
def test_what_a_host_name_leads_to_is_not_guessed(name):
    choice = bootstrap(HOST, {"NCCL_COMM_ID": name}, NEW)
    assert (choice.value, choice.is_known) == ("", False)


NAMES = st.sampled_from(["lo", "eth0", "eth1", "eth10", "ib0", "docker0", "virbr0", "cali1"])
ADDRESSES = st.lists(
    st.builds(
        Address, NAMES, st.integers(1, 400), st.sampled_from(["10.0.0.5", "10.0.1.5", "127.0.0.1", "::1", "fd00::5", "fe80::1"]), st.just(24), running=st.booleans()
    ),
    max_size=8,
)  # fmt: skip
LISTS = st.lists(NAMES, min_size=1, max_size=3).map(",".join)


@given(ADDRESSES, LISTS, st.sampled_from(["", "=", "^", "^="]), st.sampled_from([OLD, NEW]))
def test_a_list_takes_only_what_it_says(addresses, listed, sign, version):
    choice = bootstrap(addresses, {"NCCL_SOCKET_IFNAME": sign + listed}, version)
    taken = [one for one in addresses if (one.interface, one.value) == (choice.interface, choice.value)]
    assert bool(taken) == bool(choice.value)
    assert all(parse_names(sign + listed).takes(one.interface) for one in taken)
    assert not taken or version < NEW or any(one.running for one in taken)


@given(ADDRESSES, LISTS, st.sampled_from([OLD, NEW]))
def test_the_order_of_a_list_changes_nothing(addresses, listed, version):
    turned = ",".join(reversed(listed.split(",")))
    assert bootstrap(addresses, {"NCCL_SOCKET_IFNAME": listed}, version) == bootstrap(addresses, {"NCCL_SOCKET_IFNAME": turned}, version)


@given(ADDRESSES)
def test_an_excluded_name_and_the_same_name_share_nothing(addresses):
    parts = [[one for one in in_kernel_order(addresses) if parse_names(text).takes(one.interface)] for text in ("=eth1", "^=eth1")]
    assert sorted(map(repr, parts[0] + parts[1])) == sorted(map(repr, addresses))
