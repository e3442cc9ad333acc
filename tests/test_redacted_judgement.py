"""A redacted recording is judged as the host itself: what checks compare is as equal, as near and as special as before."""

from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address, ip_address

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hostagent.host.recording import ReplayBackend
from hostagent.profiles import profile
from hostagent.snapshot.redact import Redactor, redacted
from tests import recorded
from tests.judged import judged

KEY = b"another key, for what is redacted already looks like a host"
FABRIC = ("rdma", "network")
LOADED = profile.load(site_file="")


def told(report):
    """All that is judged, but for names and numbers in sentences."""
    rows = [(one.id, one.outcome, one.severity, one.scope, one.code, one.cause and one.cause.id) for one in report.findings]
    return sorted(map(repr, rows)), report.verdict


@recorded.each_host
def test_a_recorded_host_that_is_redacted_is_judged_the_same(name):
    before = recorded.tape_of(name)
    other = replace(before, answers=redacted(before.answers, KEY))
    assert other.answers != before.answers
    assert told(judged(ReplayBackend(other), recorded.profile_of(name))) == told(recorded.report_of(name))


# One host, of whose rails interfaces, addresses and GIDs are anything.

BASE = recorded.tape_of("hgx-h100-ubuntu2404")
CARDS = ("0000:18:00.0", "0000:40:00.0", "0000:4f:00.0")
SUBNETS = [IPv4Address(text) for text in ("10.1.0.0", "10.1.2.0", "10.1.3.0", "192.168.7.0", "169.254.1.0", "203.0.113.0")]
SYSCTLS = {"arp_ignore": "0", "arp_announce": "0", "arp_filter": "0", "rp_filter": "0"}
ROWS = st.fixed_dictionaries(
    {
        "mac": st.binary(min_size=6, max_size=6),
        "by_mac": st.booleans(),
        "by_guid": st.booleans(),
        "address": st.tuples(st.sampled_from(SUBNETS), st.integers(0, 255)).map(lambda pair: pair[0] + pair[1]),
        "prefix": st.sampled_from([16, 22, 24, 25, 26, 30, 31]),
        "global6": st.sampled_from(["", "2001:db8:1:2::{}", "2001:db8:1:3::{}", "fd00::{}"]),
        "slots": st.sets(st.sampled_from(["local", "ipv4", "ipv6", "stranger"])),
        "mtu": st.sampled_from(["1500", "4200", "9000", "9000"]),
        "sysctls": st.sampled_from([SYSCTLS, {**SYSCTLS, "arp_ignore": "1", "arp_announce": "2"}, {**SYSCTLS, "rp_filter": "1"}]),
    }
)


def rails(rows):
    """Answers of the lanes, and of sysfs about the cards."""
    found = {"rdma devices": [], "network devices": ["lo"], "network others": ["lo 1 loopback 1 65536 unknown 0x9 /"]}
    found["network addresses"] = [["lo", "127.0.0.1", 8], ["lo", "::1", 128]]
    found["network settings"] = {"all": SYSCTLS, "port_range": "32768 60999", "reserved_ports": ""}
    found["network listeners"] = []
    for number, (pci, row) in enumerate(zip(CARDS, rows, strict=False)):
        found |= rail(number, pci, row, found)
    return {question: {"json": answer} for question, answer in found.items()}


def rail(number, pci, row, found):
    mac = row["mac"]
    inside = bytes([mac[0] ^ 2]) + mac[1:3] + b"\xff\xfe" + mac[3:]
    name = f"enx{mac.hex()}" if row["by_mac"] else f"ens{number}np0"
    device = f"rocex{inside.hex()}" if row["by_guid"] else f"mlx5_{number}"
    if device in found["rdma devices"] or name in found["network devices"]:
        return {}
    addresses = {"local": f"fe80::{inside.hex(':', 2)}", "ipv4": str(row["address"])}
    if row["global6"]:
        addresses["ipv6"] = row["global6"].format(f"{number + 1:x}")
    found["rdma devices"].append(device)
    found["network devices"].append(name)
    lengths = {"local": 64, "ipv4": row["prefix"], "ipv6": 64}
    found["network addresses"] += [[name, str(ip_address(text)), lengths[kind]] for kind, text in addresses.items()]
    values = [gid(text) for kind, text in {**addresses, "stranger": "10.99.0.1"}.items() if kind in row["slots"]]
    gids = [[at, value, kind, name] for at, (value, kind) in enumerate((one, two) for one in values for two in ("IB/RoCE v1", "RoCE v2"))]
    common = {
        "driver": "mlx5_core",
        "virtual_of": "",
        "manages_nvlink": False,
        "node_type": "1: CA",
        "hca_type": "MT4129",
        "link_policy": {},
    }
    told = {"fw_ver": "28.42.1000", "board_id": "MT_0000000838", "node_guid": inside.hex(":", 2), "node": f"uverbs{number}"}
    link = {
        "state": "4: ACTIVE",
        "phys_state": "5: LinkUp",
        "rate": "400 Gb/sec (4X NDR)",
        "link_layer": "Ethernet",
        "lid": "0x0",
        "sm_lid": "0x0",
    }
    index = str(number + 2)
    netdev = {"ifindex": index, "iflink": index, "mtu": row["mtu"], "operstate": "up", "flags": "0x1003", "type": "1", "kind": "physical"}
    return {
        f"rdma device {device}": {"pci": pci, **common, **told, "ports": ["1"], "netdevs": [[name, 0]]},
        f"rdma port {device} 1": {**link, "pkeys": [[0, "0xffff"]], "gids": gids, "link_downed": "0", "traffic_class": ""},
        f"rdma verbs {device} 1": {"state": 4, "max_mtu": 5, "active_mtu": 3 if row["mtu"] == "1500" else 5},
        f"network device {name}": {**netdev, "pci": pci, "devtype": "", "master": "", "lower": [], "parent": "", "bonding": "", "sysctls": row["sysctls"]},
        f"network speed {name}": "400000",
        f"list /sys/bus/pci/devices/{pci}/net": [name],
    }  # fmt: skip


def gid(text):
    address = ip_address(text)
    return (IPv6Address(b"\0" * 10 + b"\xff\xff" + address.packed) if address.version == 4 else address).exploded


#: What the host answers but for its lanes, and the same redacted, once: an answer is redacted by itself and the key.
OTHERS = {key: value for key, value in BASE.answers.items() if not key.startswith(("rdma ", "network "))}
REDACTED = redacted(OTHERS, KEY)


def both(rows):
    """The host itself, and what leaves of it, as the families that look at its rails judge them."""
    made = rails(rows)
    one, other = {**OTHERS, **made}, {**REDACTED, **redacted(made, KEY)}
    return [judged(ReplayBackend(replace(BASE, answers=answers)), LOADED, FABRIC) for answers in (one, other)]


RAIL = {"mac": b"\x02B\xac\x11\0\2", "by_mac": True, "by_guid": True, "address": IPv4Address("10.1.2.7"), "prefix": 24, "global6": "",
               "slots": {"local", "ipv4"}, "mtu": "9000", "sysctls": SYSCTLS}  # fmt: skip
TWO = [RAIL, {**RAIL, "mac": b"\x02B\xac\x11\0\3", "address": IPv4Address("10.1.2.8")}]


def test_an_answer_is_redacted_alike_whatever_else_is_in_the_recording():
    made = rails(TWO)
    assert redacted({**OTHERS, **made}, KEY) == {**REDACTED, **redacted(made, KEY)}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@example(rows=TWO)
@given(rows=st.lists(ROWS, min_size=1, max_size=3))
def test_rails_are_judged_the_same_whatever_their_addresses_and_names(rows):
    before, after = both(rows)
    assert told(before) == told(after)


def test_what_is_wrong_with_the_addresses_of_rails_is_found_in_a_redacted_recording_too():
    reports = both(TWO) + both([{**RAIL, "slots": {"local"}}])
    found = [{one.id for one in report.findings if one.outcome == "fail"} for report in reports]
    assert ["network.rail_subnets" in ids for ids in found] == [True, True, False, False]
    assert ["rdma.gid" in ids for ids in found] == [False, False, True, True]


def test_a_finding_is_about_the_port_under_its_redacted_name():
    """Both of its names, and what a person reads of it, are made of an Ethernet address."""
    before, after = both([{**RAIL, "slots": {"local"}}, TWO[1]])
    subjects = [{one.subject for one in report.findings if one.outcome == "fail" and one.id == "rdma.gid"} for report in (before, after)]
    assert subjects == [{"rocex0042acfffe110002:1"}, {Redactor(KEY).text("rocex0042acfffe110002:1")}]
    assert "0042acfffe11" not in repr(after) + repr(after.facts)
