"""On namespaces made at random our interfaces and addresses are those of ip(8); what the kernel refuses of DCB is unknown here, too."""

import json
import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.domains.network import read_netlink
from hostagent.domains.network.read_interfaces import BY_WORD
from hostagent.engine.catalogue import OURS, load
from hostagent.testing import load_case, run_case
from tests.real.conftest import need_real

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces: run the tests as root")
_HOW = "apt-get install iproute2"
_UP, _LOOPBACK = 0x1, 0x8
NO_DCB = dict.fromkeys(("pfc", "dscp", "selectors", "dcbx"))


def inside(mode, commands=()):
    need_real("ip", _HOW)
    own = ["--pid", "--fork", "--mount-proc"] if mode == "pod" else []
    argv = ["unshare", "--net", "--mount", *own, sys.executable, "-m", "tests.real.network_inside", mode, json.dumps(list(commands))]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


MTUS = st.sampled_from((1280, 1500, 4200, 8896, 9000))


@st.composite
def networks(draw):
    """Arguments of ip(8), one command after the other, each of which the kernel takes."""
    commands = [["link", "set", "lo", "up"]] if draw(st.booleans()) else []
    bridges = [f"br{index}" for index in range(draw(st.integers(0, 2)))]
    commands += [["link", "add", name, "type", "bridge"] for name in bridges]
    names = []
    for index in range(draw(st.integers(1, 3))):
        pair = [f"v{index}a", f"v{index}.b"]
        names += pair
        commands.append(["link", "add", pair[0], "mtu", str(draw(MTUS)), "type", "veth", "peer", "name", pair[1]])
        if bridges and draw(st.booleans()):
            commands.append(["link", "set", pair[0], "master", draw(st.sampled_from(bridges))])
        if draw(st.booleans()):
            commands.append(["link", "add", f"mac{index}", "link", pair[1], "type", "macvlan", "mode", "bridge"])
            names.append(f"mac{index}")
    names += bridges
    up = draw(st.lists(st.sampled_from(names), unique=True))
    commands += [["link", "set", name, "up"] for name in up]
    for index, name in enumerate(draw(st.lists(st.sampled_from(names), max_size=4))):
        commands.append(
            ["addr", "add", draw(st.sampled_from((f"10.{index}.0.5/24", f"10.9.0.{index + 1}/16", f"fd0{index}::5/64"))), "dev", name]
        )
    return commands


@given(networks())
@settings(max_examples=12)
def test_interfaces_and_addresses_are_those_of_ip(commands):
    found = inside("own", commands)
    assert found["failed"] == []
    assert_alike(found)


def assert_alike(found):
    ours = {one["name"]: one for one in found["network"]["netdevs"]}
    theirs = {one["ifname"]: one for one in found["links"]}
    assert set(ours) == set(theirs)
    for name, link in theirs.items():
        one = ours[name]
        assert (one["index"], one["mtu"], one["state"]) == (link["ifindex"], link["mtu"], link["operstate"].lower()), name
        assert (one["flags"] & _UP > 0, one["flags"] & _LOOPBACK > 0) == ("UP" in link["flags"], "LOOPBACK" in link["flags"]), name
        assert one["master"] == link.get("master", ""), name
        word = link.get("linkinfo", {}).get("info_kind", "")
        assert one["kind"] == (BY_WORD.get(word, "other") if word else "loopback"), name
        assert one["parent"] == (link["link"] if one["kind"] == "macvlan" else ""), name
        assert one["ports"] == sorted(
            (port for port in theirs if theirs[port].get("master") == name), key=lambda port: theirs[port]["ifindex"]
        )
    told = {one["ifname"]: {(each["local"], each["prefixlen"]) for each in one["addr_info"]} for one in found["addresses"]}
    assert {name: {(each["value"], each["prefix"]) for each in one["addresses"]} for name, one in ours.items()} == told
    assert_tables(found["tables"], told, {name for name, link in theirs.items() if "UP" in link["flags"]})


def assert_tables(rows, told, up):
    """What the kernel's tables say holds, where they say it. Of one that is down they say the address, and not whose it is."""
    for names, address, prefix in rows:
        owners = {name for name, addresses in told.items() if (address, prefix) in addresses}
        said = set(names.split())  # of IPv6 each row is one interface's: a bridge has the address of its lowest port, too
        assert not names or (owners and (said <= owners if ":" in address else owners <= said)), (names, address, prefix, told)
    listed = {address for _, address, _ in rows}
    assert {address for name in up for address, _ in told[name]} <= listed


def test_the_kernel_itself_says_which_kind_an_interface_is():
    """sysfs has no mark of ifb; a veth in another namespace shows a number, and no name."""
    found = inside(
        "own", [["link", "add", "va", "type", "veth", "peer", "name", "vb"], ["link", "add", "mv", "link", "va", "type", "macvlan"]]
    )
    assert {one["name"]: one["kind"] for one in found["network"]["netdevs"] if len(one["name"]) == 2 and one["name"] != "lo"} == {
        "va": "veth",
        "vb": "veth",
        "mv": "macvlan",
    }
    assert found["tape"]["network kinds"] == {}, "sysfs said the same"
    assert len(found["tape"]["network others"]) == 2 + sum(one["name"] in ("lo", "ifb0", "ifb1") for one in found["network"]["netdevs"])


def test_hundreds_of_veths_are_a_short_tape():
    """A node of 200 pods."""
    commands = [["link", "add", f"cali{index:x}", "type", "veth", "peer", "name", f"pod{index:x}"] for index in range(200)]
    found = inside("own", commands)
    assert_alike(found)
    assert len([question for question in found["tape"] if question.startswith("network device ")]) == 0
    assert len(json.dumps(found["tape"], indent=1)) < 40 * 1024


def judged(tmp_path, found, netdev, check_id):
    """By a check, with an RDMA port made up on one of these interfaces: no kernel of a test machine has one."""
    port = {"name": "mlx5_0:1", "device": "mlx5_0", "number": 1, "driver": "mlx5_core", "link_layer": "Ethernet", "netdev": netdev}
    given = {"RdmaPort": [port], "Nic": [], "Gpu": [], "Network": found["network"]}
    file = tmp_path / check_id.replace(".", "/") / "case.yaml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"given": given, "profile": {"rdma": {"hcas": "mlx5"}}, "expect": {"outcome": "pass"}}))
    checks = {one.id: one for one in load([OURS])}
    return [(one.outcome, one.code) for one in run_case(load_case(str(file), str(tmp_path), checks), checks)]


def test_a_port_of_a_bridge_may_have_a_smaller_mtu_and_that_is_found(tmp_path):
    """A bridge takes the smallest MTU of its ports by itself, but keeps one that somebody set."""
    commands = [
        ["link", "add", "br0", "type", "bridge"],
        ["link", "add", "va", "mtu", "9000", "type", "veth", "peer", "name", "vb", "mtu", "9000"],
        ["link", "set", "va", "master", "br0"],
        ["link", "set", "br0", "mtu", "8896"],
    ]
    assert judged(tmp_path, inside("own", commands), "va", "network.mtu_below") == [("pass", "")]
    found = inside("own", [*commands, ["link", "set", "va", "mtu", "1500"]])
    assert found["failed"] == []
    assert judged(tmp_path, found, "va", "network.mtu_below") == [("fail", "smaller")]


def test_the_kernel_refuses_a_macvlan_above_its_parent_and_lowers_one_with_it(tmp_path):
    commands = [
        ["link", "add", "va", "mtu", "9000", "type", "veth", "peer", "name", "vb"],
        ["link", "add", "mv", "link", "va", "type", "macvlan"],
        ["link", "set", "va", "mtu", "1500"],
        ["link", "set", "mv", "mtu", "9000"],
    ]
    found = inside("own", commands)
    assert [words for words, _ in found["failed"]] == [commands[3]]
    assert {one["name"]: one["mtu"] for one in found["network"]["netdevs"]}["mv"] == 1500
    assert judged(tmp_path, found, "mv", "network.mtu_below") == [("pass", "")]


def test_rails_in_one_subnet_are_found_by_the_kernels_own_defaults(tmp_path):
    """Of macvlans here: of veths no check asks for their sysctls."""
    commands = [["link", "add", "va", "type", "veth", "peer", "name", "vb"]]
    for index in (1, 2):
        commands += [
            ["link", "add", f"mv{index}", "link", "va", "type", "macvlan"],
            ["addr", "add", f"10.0.0.{index}/24", "dev", f"mv{index}"],
        ]
    found = inside("own", commands)
    both = [one for one in found["network"]["netdevs"] if one["name"] in ("mv1", "mv2")]
    assert [(one["arp_ignore"], one["arp_announce"]) for one in both] == [(0, 0), (0, 0)]


def test_dcb_that_the_kernel_refuses_is_an_answer_without_any_value():
    """So it is unknown what the card does, and known that it was asked."""
    need_real("dcb", _HOW)
    found = inside("own", [["link", "add", "va", "type", "veth", "peer", "name", "vb"]])
    assert "not supported" in found["dcb"]["va"]
    assert read_netlink.dcb("lo") == NO_DCB
    missing = read_netlink.dcb("none-such")
    assert isinstance(missing, Unread)
    assert missing.why == "error"


def test_from_another_namespace_the_host_is_told_as_far_as_it_shows():
    """A pod with a network of its own sees the host's interfaces by sysfs and their addresses by /proc/1; what is its own it does not tell."""
    found = inside("apart")
    own = {
        one["ifname"]: one for one in json.loads(subprocess.run(["ip", "-j", "addr"], capture_output=True, text=True, check=True).stdout)
    }
    ours = {one["name"]: one for one in found["network"]["netdevs"]}
    assert {name: one["mtu"] for name, one in ours.items()} == {name: one["mtu"] for name, one in own.items()}
    assert {name: {each["value"] for each in one["addresses"]} for name, one in ours.items()} == {
        name: {each["local"] for each in one["addr_info"]} for name, one in own.items()
    }
    assert found["network"]["port_range"]["unread"] == "denied"
    assert found["tape"]["network kinds"]["unread"] == "denied"
    assert isinstance(found["network"]["listeners"], list)


#: Two interfaces in one network, so the kernel's tables leave open whose address it is.
ON_THE_HOST = [
    ["link", "add", "va", "type", "veth", "peer", "name", "vb"],
    ["link", "add", "mv", "link", "va", "type", "macvlan"],
    ["addr", "add", "10.7.0.5/24", "dev", "va"],
    ["addr", "add", "10.7.0.6/24", "dev", "mv"],
    ["link", "set", "va", "up"],
    ["link", "set", "mv", "up"],
]


@pytest.fixture(scope="module")
def pods():
    found = inside("pod", ON_THE_HOST)
    assert found["failed"] == []
    return found


def test_a_privileged_pod_asks_in_the_hosts_network_namespace(pods):
    found = pods["privileged"]
    assert found["own"][0] == found["own"][1], "the worker alone enters it"
    netdevs = {one["name"]: one for one in found["network"]["netdevs"]}
    assert {"va", "vb", "mv"} <= set(netdevs)
    for name, address in (("va", "10.7.0.5"), ("mv", "10.7.0.6")):
        assert {"value": address, "prefix": 24, "label": ""} in netdevs[name]["addresses"]
    assert netdevs["mv"]["arp_ignore"] == 0
    assert found["network"]["port_range"] == [20000, 20999]
    assert found["tape"]["network kinds"] == {}
    assert found["dcb"][0]["unread"] == "error", "there is no such interface in the pod"
    assert found["dcb"][1] == NO_DCB


@pytest.mark.parametrize("way", ["no-admin", "no-ptrace"])
def test_without_the_right_to_enter_it_is_denied_as_before(pods, way):
    found = pods[way]
    netdevs = {one["name"]: one for one in found["network"]["netdevs"]}
    assert netdevs["va"]["addresses"]["unread"] == "error"
    assert netdevs["mv"]["arp_ignore"]["unread"] == "denied"
    assert found["network"]["port_range"]["unread"] == "denied"
    assert found["tape"]["network kinds"]["unread"] == "denied"
    assert [one["unread"] for one in found["dcb"]] == ["error", "error"]
