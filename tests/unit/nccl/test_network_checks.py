"""What the checks of NCCL's network say is followed: the values that they suggest are found right, and nobody is stopped who asks for nothing."""

import functools
import re
from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hostagent.core.unread import Unread
from hostagent.engine.evaluate import evaluate
from hostagent.facts.gpu import Gpu
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.nccl import Nccl, NcclLibrary, NcclSetting
from hostagent.facts.network import Address, Netdev, Network
from hostagent.facts.rdma import RdmaPort
from hostagent.facts.topology import Nic
from hostagent.profiles.profile import load as load_profile
from hostagent.testing import run_case
from tests.checkcases import CASES as ALL_CASES
from tests.checkcases import CHECKS
from tests.over import over

NOT_NAMED = Unread("not-recorded", "not named")
CASES = [case for case in ALL_CASES if case.check_id.startswith("nccl.")]
RAILS = tuple(f"mlx5_{number}" for number in (0, 1, 2, 10, 11))
STORAGE = {"mlx5_3": "InfiniBand", "mlx5_4": "Ethernet", "mlx5_12": "InfiniBand"}


def made(kind, **given):
    return kind(**{field.name: NOT_NAMED for field in fields(kind)} | given)


def a_job(settings, version="2.28.9"):
    library = NcclLibrary("/usr/lib/libnccl.so.2", "linker", version, "12.9")
    rows = tuple(NcclSetting(name, value, is_known=True, origin="/etc/nccl.conf", line=1, wins=True) for name, value in settings.items())
    return made(Nccl, libraries=(library,), settings=rows, plugins=(), has_environment=False, files=())


def port(device, layer):
    return made(
        RdmaPort,
        name=f"{device}:1",
        device=device,
        number=1,
        state="ACTIVE",
        link_layer=layer,
        driver="mlx5_core",
        pci=f"0000:{int(device[5:]):02x}:00.0",
    )


@functools.cache
def profile(required):
    overlay = {"rdma": {"required": required, "hcas": f"={','.join(RAILS)}"}}
    return load_profile("default", site_file="/nonexistent", overlay=overlay).profile


PORTS = (*(port(device, "InfiniBand") for device in RAILS), *(port(device, layer) for device, layer in STORAGE.items()))


def judged(check, facts, required="auto"):
    (one,) = evaluate([CHECKS[check]], HostFacts({Gpu: (), Nic: (), **facts}), profile(required))
    return one


def hcas(value, required="auto"):
    return judged("nccl.ib_hca", {Nccl: a_job({"NCCL_IB_HCA": value}), RdmaPort: PORTS}, required)


NAMES = st.sampled_from([*RAILS, *STORAGE, "mlx5", "mlx5_1", "mlx5_bond_0", "mlx5_0:1", "mlx5_0:2", "rocep", " mlx5_0"])
LISTS = st.builds(lambda mark, names: mark + ",".join(names), st.sampled_from(["", "=", "^", "^="]), st.lists(NAMES, max_size=6))


@given(LISTS)
def test_the_list_of_hcas_that_a_finding_suggests_is_right(value):
    found = hcas(value)
    if found.outcome in ("fail", "warn") and found.wanted.startswith("="):
        again = hcas(found.wanted)
        assert again.outcome == "pass" or again.severity == "info" or (found.code, again.code) == ("prefix", "others"), (value, again)


@given(LISTS)
def test_a_list_of_hcas_ends_nobodys_jobs_who_does_not_ask_for_rdma(value):
    mild, strict = hcas(value), hcas(value, "yes")
    assert (mild.outcome, mild.code) == (strict.outcome, strict.code)
    assert (mild.outcome, mild.severity) != ("fail", "critical")


def test_every_rail_and_nothing_else_is_right():
    assert hcas(f"={','.join(RAILS)}").outcome == "pass"
    assert hcas("^=mlx5_3,mlx5_4,mlx5_12").outcome == "pass"


TOLD = [
    (
        "=mlx5_3",
        "Write = and the whole names of the ports in NCCL_IB_HCA.",
        "NCCL_IB_HCA takes other RDMA ports than those for jobs: mlx5_3:1",
    ),
    ("mlx5_0", "", "NCCL_IB_HCA leaves 4 of 5 RDMA ports out that jobs could use"),
    ("=mlx5_0,mlx5_4", "", "NCCL_IB_HCA mixes Ethernet and InfiniBand: it takes mlx5_4:1, too"),
    (
        "mlx5_1",
        "Set NCCL_IB_HCA==mlx5_1:1 in /etc/nccl.conf.",
        "NCCL_IB_HCA takes more RDMA ports than it names: mlx5_10:1, mlx5_11:1, mlx5_12:1",
    ),
]


@pytest.mark.parametrize(("value", "step", "headline"), TOLD)
def test_what_is_told_of_a_list_of_hcas(value, step, headline):
    found = hcas(value)
    assert found.headline == headline
    assert not step or found.remedy[0].text == step


IFNAMES = [
    ("=lo", "NCCL_SOCKET_IFNAME==lo takes lo", "Take NCCL_SOCKET_IFNAME out of /etc/nccl.conf."),
    ("^eth0", "leaves out what it names and nothing else", "Set NCCL_SOCKET_IFNAME=^eth0,lo in /etc/nccl.conf."),
    ("=eth7 ", "blanks belong to a name", "Correct NCCL_SOCKET_IFNAME: = and the whole name of an interface."),
    ("docker", "NCCL_SOCKET_IFNAME=docker takes docker0", "Name the right interface in NCCL_SOCKET_IFNAME, with = before its whole name."),
]


@pytest.mark.parametrize(("value", "message", "step"), IFNAMES)
def test_what_is_told_of_a_list_of_interfaces(value, message, step):
    netdevs = (netdev("lo", 1, "127.0.0.1"), netdev("eth0", 2, "10.0.0.5"), netdev("docker0", 3, "172.17.0.1"))
    found = judged("nccl.interface", {Nccl: a_job({"NCCL_SOCKET_IFNAME": value}), Network: made(Network, netdevs=netdevs)})
    assert message in found.message
    assert found.remedy[0].text == step


def netdev(name, index, *values):
    return made(Netdev, name=name, index=index, flags=0x1003, state="up", addresses=tuple(Address(value, 24) for value in values))


DEVICES = st.lists(st.sampled_from(["docker0", "eth0", "ens1np0", "cali12ab34cd56e", "br-0123456789ab"]), unique=True, max_size=4)
EXCLUDED = st.lists(st.sampled_from(["docker0", "docker", "eth0", "cali", "br-", "virbr"]), min_size=1, max_size=3)
_SET = re.compile(r"Set NCCL_SOCKET_IFNAME=(\S+) in /etc/nccl\.conf\.")


@given(DEVICES, EXCLUDED)
def test_what_is_suggested_for_a_list_that_leads_to_lo_does_not_lead_there(names, excluded):
    netdevs = (netdev("lo", 1, "127.0.0.1"), *(netdev(name, 2 + at, f"10.0.{at}.5") for at, name in enumerate(names)))
    network = made(Network, netdevs=netdevs)
    value = f"^{','.join(excluded)}"
    found = judged("nccl.interface", {Nccl: a_job({"NCCL_SOCKET_IFNAME": value}), Network: network})
    assert found.code == "loopback", "lo comes first in the kernel's order, and nothing else leaves it out"
    suggested = _SET.fullmatch(found.remedy[0].text)
    again = judged("nccl.interface", {Nccl: a_job({"NCCL_SOCKET_IFNAME": suggested[1]}), Network: network})
    assert again.code != "loopback"


@over("case", CASES, ids=lambda case: case.path.partition("nccl/")[2])
def test_what_a_job_is_given_stops_nobody_who_does_not_ask_for_rdma(case):
    """Critical findings are of profiles that say rdma.required yes."""
    fails = [one for one in run_case(case, CHECKS) if (one.outcome, one.severity) == ("fail", "critical")]
    assert not fails or case.profile.rdma.required == "yes"


def test_a_host_without_nccl_and_without_its_settings_is_asked_nothing():
    family = [one for one in CHECKS.values() if one.id.startswith("nccl.")]
    facts = {Nccl: a_job({})}
    nothing = {Nccl: made(Nccl, libraries=(), settings=())}
    outcomes = {one.id: one.outcome for one in evaluate(family, HostFacts(nothing), profile("yes"))}
    assert set(outcomes.values()) == {"skip"}, {name for name, outcome in outcomes.items() if outcome != "skip"}
    assert {one.outcome for one in evaluate(family, HostFacts(facts), profile("yes"))} != {"skip"}
