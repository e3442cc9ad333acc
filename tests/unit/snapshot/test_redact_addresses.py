"""One map of addresses for every spelling: what two of them share stays shared, what a range or a form means stays, and who had one is gone."""

import json
from ipaddress import IPv4Address, IPv6Address, ip_interface, ip_network

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hostagent.snapshot.addresses import AddressMap, is_netmask
from hostagent.snapshot.redact import Redactor

KEY = b"k" * 32
MAP = AddressMap(KEY)
REDACTOR = Redactor(KEY, ("gpu-17",))
OCTETS4, OCTETS6, MACS, GUIDS = (st.binary(min_size=size, max_size=size) for size in (4, 16, 6, 8))
#: Of any octets few are special, and no two begin alike.
ADDRESSES4 = OCTETS4 | st.tuples(
    st.sampled_from([b"\x0a\x01", b"\xac\x10", b"\xa9\xfe", b"\x7f\0", b"\xe0\0", b"\xc0\xa8", b"\0\0"]), st.binary(min_size=2, max_size=2)
).map(b"".join)
ADDRESSES6 = OCTETS6 | st.tuples(
    st.sampled_from([bytes(15), bytes(10) + b"\xff\xff", b"\xfe\x80" + bytes(6), b"\x20\x01\x0d\xb8", b"\xfd\0", b"\xff\x02" + bytes(9)]),
    OCTETS6,
).map(lambda parts: b"".join(parts)[:16])


def common(one, other):
    """How many bits two addresses share at their beginning."""
    size = 8 * len(one)
    return size - (int.from_bytes(one, "big") ^ int.from_bytes(other, "big")).bit_length()


def meaning4(octets):
    address = IPv4Address(octets)
    shared = address in ip_network("100.64.0.0/10")
    return (
        address.is_loopback,
        address.is_link_local,
        address.is_multicast,
        address.is_unspecified,
        octets[0] in (0, 10),
        shared,
        is_netmask(octets),
    )


def meaning6(octets):
    address = IPv6Address(octets)
    inside = address.ipv4_mapped
    return (
        *(address.is_loopback, address.is_link_local, address.is_multicast, address.is_unspecified, octets[0] & 0xFE == 0xFC),
        meaning4(inside.packed) if inside else None,
    )


@given(ADDRESSES4, ADDRESSES4)
def test_ipv4_addresses_share_what_they_shared(one, other):
    if not is_netmask(one) and not is_netmask(other):
        assert common(MAP.ipv4(one), MAP.ipv4(other)) == common(one, other)


@given(ADDRESSES6, ADDRESSES6, st.integers(0, 64))
def test_ipv6_addresses_share_their_subnet(one, other, length):
    """Beyond the subnet an Ethernet address or a GUID inside is what it is elsewhere."""
    left, right = MAP.ipv6(one), MAP.ipv6(other)
    assert (common(left, right) >= length) == (common(one, other) >= length)
    assert (left == right) == (one == other)


@given(ADDRESSES4)
@example(bytes((169, 254, 1, 2)))
@example(bytes((223, 255, 255, 255)))
def test_what_an_ipv4_address_means_stays(octets):
    assert meaning4(MAP.ipv4(octets)) == meaning4(octets)


@given(ADDRESSES6)
@example(bytes(16))
@example(bytes(15) + b"\1")
@example(IPv6Address("fec0::1").packed)
@example(IPv6Address("ff02::1:ff11:2").packed)
def test_what_an_ipv6_address_means_stays(octets):
    other = MAP.ipv6(octets)
    assert meaning6(other) == meaning6(octets)
    if IPv6Address(octets).is_link_local:
        assert other[:8] == octets[:8], "the prefix of a subnet stays"


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1", "127.1.2.3", "0.0.0.0", "0.0.0.0/0", "255.255.255.0", "255.255.255.255", "240.0.0.0", "224.0.0.1", "::", "::1", "::/0", "ff02::1", "ff02::2",
        "0000:0000:0000:0000:0000:0000:0000:0001", "fe80::", "fe80::/64", "fe80::/10", "00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "0000:0000:0000:0000",
        "00000000000000000000000000000001 01 80 10 80       lo\n",
        "eth0\t00000000\t00000000\t0003\t0\t0\t100\t00000000\t0\t0\t0\n", "lo\t0000007F\t00000000\t0001\t0\t0\t0\t000000FF\t0\t0\t0\n",
    ],
)  # fmt: skip
def test_what_every_host_has_stays(text):
    assert REDACTOR.text(text) == text


def redacted(text):
    return REDACTOR.text(text)


@given(OCTETS4)
@example(bytes((10, 0, 1, 2)))
def test_an_ipv4_address_is_the_same_in_every_spelling(octets):
    if octets[0] in (0, 127, 255) or is_netmask(octets):
        return
    dotted, digits = str(IPv4Address(octets)), octets.hex()
    other = IPv4Address(redacted(f"- {dotted}").removeprefix("- ")).packed
    assert other == MAP.ipv4(octets)
    shown = str(IPv4Address(other))
    assert redacted(f"x::ffff:{dotted}").endswith(shown)
    assert IPv6Address(redacted(f"::ffff:{digits[:4]}:{digits[4:]}")).packed[12:] == other
    gid = f"0000:0000:0000:0000:0000:ffff:{digits[:4]}:{digits[4:]}"
    assert redacted(gid) == f"0000:0000:0000:0000:0000:ffff:{other.hex()[:4]}:{other.hex()[4:]}"
    route = "eth0\t00000000\t{}\t0003\t0\t0\t100\t00000000\t0\t0\t0\n"
    assert redacted(route.format(octets[::-1].hex().upper())) == route.format(other[::-1].hex().upper())
    socket = "   3: {}:1F90 00000000:0000 0A 00000000:00000000\n"
    assert redacted(socket.format(octets[::-1].hex().upper())) == socket.format(other[::-1].hex().upper())
    for form in ("  |-- {}\n     /32 host LOCAL\n", "NCCL_COMM_ID={}:29500", "inet {}/32 scope", "[{}]", "http://{}:80/", "{},{}"):
        assert redacted(form.format(dotted, dotted)) == form.format(shown, shown)


@given(ADDRESSES6)
def test_an_ipv6_address_is_the_same_in_every_spelling(octets):
    address, other = IPv6Address(octets), IPv6Address(MAP.ipv6(octets))
    assert redacted(address.exploded) == other.exploded
    line = "{} 02 40 00 80     eth0\n"
    assert redacted(line.format(octets.hex())) == line.format(other.packed.hex())
    swapped = b"".join(octets[at : at + 4][::-1] for at in (0, 4, 8, 12)).hex().upper()
    wanted = b"".join(other.packed[at : at + 4][::-1] for at in (0, 4, 8, 12)).hex().upper()
    assert redacted(f"  11: {swapped}:1F90 {'0' * 32}:0000 0A ") == f"  11: {wanted}:1F90 {'0' * 32}:0000 0A "
    if not address.ipv4_mapped and any(char.isdigit() for char in str(address)):
        assert IPv6Address(redacted(str(address))) == other
        assert redacted(f"[{address}]:80") == f"[{redacted(str(address))}]:80"


@given(MACS)
@example(bytes.fromhex("0242ac110002"))
def test_an_ethernet_address_is_the_same_in_every_spelling_and_inside_of_names_and_gids(octets):
    other = MAP.mac(octets)
    if octets in (bytes(6), b"\xff" * 6):
        return
    assert other[0] & 3 == octets[0] & 3
    for form in ("{}", "enx{}"):
        assert redacted("mac=" + form.format(octets.hex())) == "mac=" + form.format(other.hex())
    assert redacted(octets.hex(":")) == other.hex(":")
    assert redacted(octets.hex("-")) == other.hex("-")
    assert redacted(f"BOOTIF=01-{octets.hex('-')}") == f"BOOTIF=01-{other.hex('-')}"
    inside, mapped = (bytes([one[0] ^ 2]) + one[1:3] + b"\xff\xfe" + one[3:] for one in (octets, other))
    gid = "fe80:0000:0000:0000:{}"
    assert redacted(gid.format(inside.hex(":", 2))) == gid.format(mapped.hex(":", 2))
    assert redacted(f"rocex{inside.hex()}") == f"rocex{mapped.hex()}"
    assert redacted(inside.hex(":", 2)) == mapped.hex(":", 2)
    slaac = redacted(IPv6Address(b"\x20\x01\x0d\xb8" + bytes(4) + inside).exploded)
    assert slaac.endswith(mapped.hex(":", 2)), "also where a router has given the prefix"


@given(GUIDS)
@example(bytes.fromhex("98039b0300aabb00"))
def test_a_guid_is_the_same_in_every_spelling_and_inside_of_gids(octets):
    if octets[3:5] == b"\xff\xfe" or octets in (bytes(8), b"\xff" * 8):
        return
    other = MAP.guid(octets)
    assert redacted(octets.hex(":", 2)) == other.hex(":", 2)
    assert redacted(octets.hex(":")) == other.hex(":")
    assert redacted(f"0x{octets.hex()}") == f"0x{other.hex()}"
    for name in ("ibx", "rocex", "opax", "iwx", "rdmax"):
        assert redacted(f"/sys/class/infiniband/{name}{octets.hex()}/ports") == f"/sys/class/infiniband/{name}{other.hex()}/ports"
    for prefix in ("fe80:0000:0000:0000", "fe80:0000:0000:0001", "fec0:0000:0000:0007"):
        assert redacted(f"{prefix}:{octets.hex(':', 2)}") == f"{prefix}:{other.hex(':', 2)}"
    link = "80:00:00:48:" + (b"\xfe\x80" + bytes(6)).hex(":") + ":{}"
    assert redacted(link.format(octets.hex(":"))) == link.format(other.hex(":")), "the address of an IPoIB interface"


@given(OCTETS4, st.integers(8, 30))
def test_a_network_stays_one_and_its_hosts_stay_in_it(octets, length):
    host = ip_interface((int.from_bytes(octets, "big"), length))
    if octets[0] in (0, 127, 255) or is_netmask(octets) or is_netmask(host.network.network_address.packed):
        return
    network = ip_network(redacted(f"ADDR_RANGE={host.network}").removeprefix("ADDR_RANGE="))
    assert IPv4Address(redacted(f"- {host.ip}").removeprefix("- ")) in network
    assert redacted(f"+-- {host.network} 2 0 2\n |-- {host.network.network_address}\n   /{length} link UNICAST\n") == (
        f"+-- {network} 2 0 2\n |-- {network.network_address}\n   /{length} link UNICAST\n"
    )
    swapped = [one.packed[::-1].hex().upper() for one in (host.network.network_address, host.netmask, network.network_address)]
    route = "eth0\t{}\t00000000\t0001\t0\t0\t100\t{}\t0\t0\t0\n"
    assert redacted(route.format(swapped[0], swapped[1])) == route.format(swapped[2], swapped[1])


def test_a_network_of_ipv6_stays_one():
    network = ip_network(redacted("2001:db8:1:2::/64"))
    assert IPv6Address(redacted("2001:db8:1:2::17")) in network
    assert ip_network(redacted("2001:db8:1::/48")).supernet_of(network)
    mapped = ip_network(redacted("::ffff:10.7.2.0/120").replace("::ffff:", "").replace("/120", "/24"))
    assert IPv4Address(redacted("10.7.2.9")) in mapped
    line = "20010db8000100020000000000000000 40 {0} 00 {0} 00000100 00000001 00000000 00000001     eth0\n".format("0" * 32)
    assert redacted(line) == line.replace("20010db8000100020000000000000000", network.network_address.packed.hex())


@pytest.mark.parametrize(
    "text",
    [
        "NVRM version: 580.95.5.1", "Version: 1.2.3.4", 'version = "10.1.2.3"', '"version": "10.1.2.3"', "MLNX_OFED_LINUX-5.8-2.0.3.0", "24.10-1.1.4", "28.39.1002",
        "mlx5_0:1 bond0.100 ens1f0np0 ibp24s0 br-0242ac110002 rocep26s0 mlx5_bond_0 roceo1 MT_0000000838 0xffff 0x7fff", "0000:1a:00.0",
    ],
)  # fmt: skip
def test_what_is_no_address_stays(text):
    assert REDACTOR.text(text) == text


RDMA = {
    "rdma devices": {"json": ["mlx5_0", "rocex0042acfffe110002"]},
    "rdma device rocex0042acfffe110002": {
        "json": {"fw_ver": "229.2.52.0/pkg 229.2.52.0", "board_id": "MT_0000000838", "hca_type": "MT4129", "node_guid": "0042:acff:fe11:0002",
                 "node_desc": "gpu-17 mlx5_0", "netdevs": [["enx0242ac110002", 0]], "pci": "0000:1a:00.0", "sm_lid": {"unread": ["denied", "10.1.2.3"]}},
    },
    "rdma port rocex0042acfffe110002 1": {
        "json": {"gids": [[0, "fe80:0000:0000:0000:0042:acff:fe11:0002", "RoCE v2", "enx0242ac110002"],
                          [3, "0000:0000:0000:0000:0000:ffff:0a01:0203", "RoCE v2", "enx0242ac110002"]], "pkeys": [[0, "0xffff"]]},
    },
    "network addresses": {"json": [["enx0242ac110002", "fe80::42:acff:fe11:2", 64], ["enx0242ac110002", "10.1.2.3", 24], ["ens2", "10.1.2.4", 24]]},
    "network others": {"json": ["veth1 17 veth 16 1500 up 0x1003 br0", "enx0242ac110002 3 veth 16 1500 up 0x1003 /"]},
    "network settings": {"json": {"enx0242ac110002": {"arp_ignore": "1"}}},
    "network listeners": {"json": [[29500, "jane_train.py"], [29501, ""]]},
    "read /sys/module/bnxt_en/version": {"text": "229.0.139.0\n"},
    "modinfo /x/bnxt_en.ko": {"json": {"version": "229.0.139.0"}},
}  # fmt: skip


def test_answers_of_the_lanes_say_the_same_of_other_cards():
    left = REDACTOR.answers(RDMA)
    text = json.dumps(left)
    assert [one for one in ("0242ac", "0042", "10.1.2", "0a01", "gpu-17", "fe11", "jane") if one in text] == []
    name = f"enx{MAP.mac(bytes.fromhex('0242ac110002')).hex()}"
    device = left["rdma devices"]["json"][1]
    said, port = left[f"rdma device {device}"]["json"], left[f"rdma port {device} 1"]["json"]
    assert left["rdma devices"]["json"][0] == "mlx5_0"
    assert said["netdevs"] == [[name, 0]]
    assert device == f"rocex{said['node_guid'].replace(':', '')}"
    assert (said["fw_ver"], said["board_id"], said["hca_type"]) == ("229.2.52.0/pkg 229.2.52.0", "MT_0000000838", "MT4129")
    (own, link, _), (_, inner, _), (_, near, _) = left["network addresses"]["json"]
    assert own == name
    assert [IPv6Address(gid[1]) for gid in port["gids"]] == [IPv6Address(link), IPv6Address(f"::ffff:{inner}")]
    assert ip_interface(f"{inner}/24").network == ip_interface(f"{near}/24").network
    assert list(left["network settings"]["json"]) == [name]
    assert left["network others"]["json"][1].startswith(f"{name} 3 veth")
    assert left["network listeners"]["json"][0][1].startswith("program-")
    assert left["network listeners"]["json"][1] == [29501, ""]
    assert port["pkeys"] == [[0, "0xffff"]]
    for question in ("read /sys/module/bnxt_en/version", "modinfo /x/bnxt_en.ko"):
        assert left[question] == RDMA[question]


def test_two_keys_give_two_maps():
    assert AddressMap(b"a" * 32).ipv4(bytes((10, 1, 2, 3))) != AddressMap(b"b" * 32).ipv4(bytes((10, 1, 2, 3)))
