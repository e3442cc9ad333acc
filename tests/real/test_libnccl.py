"""Real NCCL judges what we say of it: the interface that its bootstrap takes, and which settings count. In network namespaces, without a GPU."""

import os
import sys
from collections import Counter

import pytest

from hostagent.core.typed import build
from hostagent.domains.nccl.devices import bootstraps
from hostagent.domains.nccl.interfaces import Address, bootstrap
from hostagent.domains.nccl.settings import settings, winning
from hostagent.domains.nccl.tables.changes import parse_nccl_version
from hostagent.facts.network import Network
from tests.nccl_cases import PASSWD_HOME, networks
from tests.real.nccl import LIBRARIES, asked

SEED = int(os.environ.get("NCCL_SEED", "20261123"))
FACTS = int(os.environ.get("NCCL_FACTS", "32"))
NETWORKS = int(os.environ.get("NCCL_NETWORKS", "100"))


def shown(addresses):
    """The addresses that `ip` shows, as the predictor takes them."""
    return [
        Address(one.get("label", link["ifname"]), link["ifindex"], one["local"], one["prefixlen"], "UP" in link["flags"] and "NO-CARRIER" not in link["flags"])
        for link in addresses
        for one in link["addr_info"]
    ]  # fmt: skip


def environment_of(case, version):
    """What the settings' model says that NCCL sees."""
    return winning(settings(case["env"], case["files"], PASSWD_HOME, parse_nccl_version(version)))


NONE = {
    "no_interface": "Bootstrap : no socket interface found",
    "bad_comm_id": "Invalid NCCL_COMM_ID",
    "no_subnet": "NET/Socket : No usable listening interface found",
}


def agrees(choice, addresses, log):
    """Whether the log shows this choice."""
    if choice.value:
        scope = next((f"%{link['ifname']}" for link in addresses for one in link["addr_info"] if one["local"] == choice.value and link["ifname"] == choice.interface.split(":")[0] and choice.value.startswith("fe80")), "")  # fmt: skip
        return f": Using {choice.interface}:{choice.value}{scope}<0>" in log
    return ": Using" not in log and NONE[choice.why] in log


@pytest.fixture(scope="module")
def judged():
    questions = networks(SEED, NETWORKS)
    for question in questions[:FACTS]:
        question["facts"] = True
    return list(zip(questions, asked(questions), strict=True))


def every(judged):
    for question, told in judged:
        for version, answers in told["answers"].items():
            for case, answer in zip(question["cases"], answers, strict=True):
                yield version, case, told["addresses"], answer


def test_the_bootstrap_takes_the_interface_that_we_say(judged, capsys):
    found, kinds, unknown = [], Counter(), 0
    for version, case, addresses, answer in every(judged):
        choice = bootstrap(shown(addresses), environment_of(case, version), parse_nccl_version(version))
        unknown += not choice.is_known
        kinds[choice.why] += 1
        if choice.is_known and not agrees(choice, addresses, answer["log"]):
            found.append((version, case, addresses, choice, answer["log"]))
            with capsys.disabled():
                sys.stdout.write(f"\n{version} {case} {choice} {addresses}\n{answer['log'][-3000:]}\n")
    count = sum(kinds.values())
    with capsys.disabled():
        told = f"{len(LIBRARIES)} versions x {count // len(LIBRARIES)} cases, seed {SEED}, {dict(kinds)}, {len(found)} differences"
        sys.stdout.write(f"\nnccl interfaces: {told}\n")
    assert not found, (len(found), found[0])
    assert count >= 150 * len(LIBRARIES)
    assert unknown < count * 0.05
    assert {"ifname", "ib", "comm_id", "rest", "docker", "loopback", "virbr", *NONE} <= set(kinds)


def test_from_our_own_facts_of_the_network_it_is_the_same_interface(judged, capsys):
    """From sysfs, psutil and netlink to the choice: index, state, labels and the order of addresses are those that NCCL meets."""
    found, count = [], 0
    for question, told in judged:
        if "facts" not in told:
            continue
        network = build(Network, told["facts"], "network")
        for version, answers in told["answers"].items():
            for case, answer in zip(question["cases"], answers, strict=True):
                (choice,) = bootstraps(network, environment_of(case, version), parse_nccl_version(version))
                count += choice.is_known
                if choice.is_known and not agrees(choice, told["addresses"], answer["log"]):
                    found.append((version, case, network, choice, answer["log"]))
    with capsys.disabled():
        sys.stdout.write(f"\nnccl from facts: {count} cases in {FACTS} networks, seed {SEED}, {len(found)} differences\n")
    assert not found, (len(found), found[0])
    assert count >= FACTS * len(LIBRARIES)


def test_nccl_sees_the_settings_that_we_say(judged, capsys):
    found, files = [], 0
    for version, case, _, answer in every(judged):
        seen = dict(line.split("=", 1) for line in answer["env"])
        wanted = environment_of(case, version)
        files += bool(case["files"])
        if seen != wanted:
            found.append(
                (
                    version,
                    case,
                    {
                        name: (wanted.get(name), seen.get(name))
                        for name in wanted.keys() | seen.keys()
                        if wanted.get(name) != seen.get(name)
                    },
                )
            )
    with capsys.disabled():
        sys.stdout.write(f"\nnccl settings: {files} cases with files, seed {SEED}, {len(found)} differences\n")
    assert not found, (len(found), found[0])
