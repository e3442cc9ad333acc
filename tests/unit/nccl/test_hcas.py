"""Which RDMA ports NCCL opens: its rules, walked through byte by byte, agree with ours on any list and any ports."""

import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread, UnreadError
from hostagent.domains.nccl.devices import hcas
from hostagent.domains.nccl.hca_list import parse_hcas
from hostagent.facts.rdma import RdmaPort

NOT_NAMED = Unread("not-recorded", "not named")
V218, V229, V230 = (2, 18, 3), (2, 29, 7), (2, 30, 7)


def port(device, number=1, **given):
    base = {field.name: NOT_NAMED for field in fields(RdmaPort)}
    own = {"name": f"{device}:{number}", "device": device, "number": number, "state": "ACTIVE", "link_layer": "InfiniBand", "pci": ""}
    return RdmaPort(**base | own | given)


def names(ports, value, version=V229, **given):
    return [one.name for one in hcas(tuple(ports), value, version, **given)]


HOST = [port(f"mlx5_{number}", pci=f"0000:{26 + number:02x}:00.0") for number in range(12)]

#: NCCL_IB_HCA, version, what is opened
ROWS = [
    ("mlx5_1", V229, ["mlx5_1:1", "mlx5_10:1", "mlx5_11:1"]),
    ("=mlx5_1", V229, ["mlx5_1:1"]),
    ("=mlx5_1:2", V229, []),
    ("^mlx5_1,mlx5_2,mlx5_3", V229, ["mlx5_0:1", "mlx5_4:1", "mlx5_5:1", "mlx5_6:1", "mlx5_7:1", "mlx5_8:1", "mlx5_9:1"]),
    ("^", V229, []),
    ("=^mlx5_1", V229, []),
    ("mlx5_3:", V229, []),  # port 0
    ("mlx5_3:", V230, ["mlx5_3:1"]),
    ("mlx5_3:1:0:1,mlx5_4::2", V230, ["mlx5_3:1", "mlx5_4:1"]),
    ("mlx5_3:1:0:1,mlx5_4::2", V229, ["mlx5_3:1"]),
    (" mlx5_3", V229, []),  # nothing is trimmed
]


@pytest.mark.parametrize(("value", "version", "wanted"), ROWS)
def test_the_ports_that_a_list_takes(value, version, wanted):
    assert names(HOST, value, version) == wanted


def test_only_active_ports_of_infiniband_and_ethernet():
    ports = [
        port("mlx5_0", state="INIT"),
        port("mlx5_1", link_layer="Ethernet"),
        port("rdmap0s1", link_layer="Unspecified"),
        port("mlx5_3", state="DOWN"),
    ]
    assert names(ports, "") == ["mlx5_1:1"]


def test_since_2_29_7_the_order_is_that_of_pci_addresses():
    ports = [port("mlx5_0", pci="0000:c0:00.0"), port("mlx5_2", pci="0000:1a:00.0"), port("rxe0"), port("mlx5_10", pci="0001:01:00.0")]
    assert names(ports, "", (2, 28, 9)) == ["mlx5_0:1", "mlx5_2:1", "mlx5_10:1", "rxe0:1"]
    assert names(ports, "", (2, 29, 7)) == ["mlx5_2:1", "mlx5_0:1", "mlx5_10:1", "rxe0:1"]
    assert names(ports, "", (2, 29, 7), by_pci=False) == ["mlx5_0:1", "mlx5_2:1", "mlx5_10:1", "rxe0:1"]


@pytest.mark.parametrize(("version", "most"), [(V218, 16), ((2, 19, 3), 32), (V230, 32)])
def test_at_most_so_many_ports_and_so_many_names(version, most):
    ports = [port(f"mlx5_{number}") for number in range(40)]
    assert names(ports, "", version) == [f"mlx5_{number}:1" for number in range(most)]
    listed = ",".join(f"no{number}" for number in range(most)) + ",mlx5_3"
    assert names(ports, f"={listed}", version) == []
    assert names(ports, f"={listed.partition(',')[2]}", version) == ["mlx5_3:1"]


def test_what_is_unread_of_a_port_counts_where_the_list_takes_it():
    ports = [port("mlx5_0", state=NOT_NAMED), port("mlx5_1")]
    assert names(ports, "=mlx5_1") == ["mlx5_1:1"]
    with pytest.raises(UnreadError):
        names(ports, "mlx5")
    with pytest.raises(UnreadError):
        names([port("mlx5_0", pci=NOT_NAMED), port("mlx5_1")], "")
    assert names([port("mlx5_0", pci=NOT_NAMED)], "", V218) == ["mlx5_0:1"]


def walked(text, most, is_new):
    """NCCL's parseStringList, byte by byte: [name, port, …]."""
    if is_new:
        tokens = [token.split(":") for token in re.split(",+", text.strip(",")) if not token.startswith(":")]
        return [(token[0], atoi(token[1]) if len(token) > 1 and token[1] else -1) for token in tokens if token[0]][:most]
    found, name, at = [], "", 0
    while at <= len(text) and len(found) < most:
        char = text[at : at + 1]
        if char == ":":
            if name:
                found.append((name, atoi(text[at + 1 :])))
                name = ""
            while at < len(text) and text[at] != ",":
                at += 1
            char = text[at : at + 1]
        elif char in ("", ","):
            if name:
                found.append((name, -1))
                name = ""
        else:
            name += char
        at += 1
        if not char:
            break
    return found


def atoi(text):
    sign, digits, at = 1, "", 0
    while at < len(text) and text[at] in " \t":
        at += 1
    if text[at : at + 1] in ("+", "-") and at < len(text):
        sign, at = -1 if text[at] == "-" else 1, at + 1
    while at < len(text) and text[at] in "0123456789":
        digits, at = digits + text[at], at + 1
    return sign * int(digits or "0")


def matches(device, number, entries, is_exact):
    """NCCL's matchIfList."""
    if not entries:
        return True
    return any(
        (device == name if is_exact else device[: len(name)] == name) and (number == wanted or -1 in (number, wanted))
        for name, wanted in entries
    )


TOKENS = st.lists(
    st.sampled_from(("mlx5_0", "mlx5_1", "mlx5", "mlx5_10", "^mlx5_1", "=", "^", "", ":1", "mlx5_1:1", "mlx5_1:2", "mlx5_0:", "mlx5_0::3", "mlx5_1:-1", "mlx5_10: 1x", "ib:1:2:3", "bnxt_re0")), max_size=40
).map(",".join)  # fmt: skip
VALUES = st.builds(lambda front, text: front + text, st.sampled_from(("", "", "^", "=", "^=", "=^", "^^")), TOKENS | st.text("mlx5_01:=^, +-", max_size=12))  # fmt: skip


@given(VALUES, st.sampled_from((V218, (2, 28, 9), V230, (2, 32, 3))))
def test_any_list_takes_what_nccls_own_steps_take(value, version):
    excludes = value[:1] == "^"
    rest = value[1:] if excludes else value
    is_exact = rest[:1] == "="
    entries = walked(rest[1:] if is_exact else rest, 16 if version < (2, 19, 1) else 32, version >= (2, 30, 3))
    found = parse_hcas(value, version)
    assert list(found.entries) == entries
    for device in ("mlx5_0", "mlx5_1", "mlx5_10", "bnxt_re0", "ib"):
        for number in (1, 2):
            assert found.takes(device, number) == (matches(device, number, entries, is_exact) != excludes)
