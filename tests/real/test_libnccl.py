"""Real NCCL judges what we say of it: the interface that its bootstrap takes, and which settings count. In network namespaces, without a GPU."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from hostagent.knowledge.ncclchanges import parse_nccl_version
from hostagent.nccl.interfaces import Address, bootstrap
from hostagent.nccl.settings import settings, winning
from tests.nccl_cases import PASSWD_HOME, networks
from tests.real.conftest import need_real
from tests.real_nccl import LIBRARIES

VERSIONS = LIBRARIES
SEED = int(os.environ.get("NCCL_SEED", "20261123"))
NETWORKS = int(os.environ.get("NCCL_NETWORKS", "160"))
INSIDE = Path(__file__).parent / "nccl_inside.py"


def library(version):
    return need_real(f"libnccl/{version}.so", "tests/real/install_libnccl.sh")


def asked(questions):
    """What each library answers to each question, and what the kernel shows of each network."""
    paths = {version: library(version) for version in VERSIONS}
    lines = [json.dumps({"libraries": paths}), *map(json.dumps, questions)]
    run = subprocess.run(
        ["unshare", "--mount", "--net", sys.executable, str(INSIDE)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=800,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


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
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root: run the tests as root")
    questions = networks(SEED, NETWORKS)
    return list(zip(questions, asked(questions), strict=True))


def every(judged):
    for question, told in judged:
        assert not told["waiting"], told
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
    count = sum(kinds.values())
    with capsys.disabled():
        told = f"{len(VERSIONS)} versions x {count // len(VERSIONS)} cases, seed {SEED}, {dict(kinds)}, {len(found)} differences"
        sys.stdout.write(f"\nnccl interfaces: {told}\n")
    assert not found, (len(found), found[0])
    assert count >= 150 * len(VERSIONS)
    assert unknown < count * 0.05
    assert {"ifname", "ib", "comm_id", "rest", "docker", "loopback", "virbr", *NONE} <= set(kinds)


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
