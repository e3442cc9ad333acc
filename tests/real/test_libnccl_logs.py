"""What real NCCL writes without a GPU is read as it was meant, in every version; and it takes the levels of NCCL_DEBUG that we say."""

import re

import pytest

from hostagent.cli.logs import read_logs
from hostagent.domains.nccl.logs.explanation import Job
from hostagent.domains.nccl.tables.changes import parse_nccl_version
from hostagent.domains.nccl.tables.variables import words
from tests.real.nccl import LIBRARIES, asked

NETWORK = {
    "commands": ["link set lo up", "link add eth0 type veth peer name other", "addr add 10.0.0.1/24 dev eth0", "link set other up", "link set eth0 up"],
    "running": ["lo", "eth0"],
}  # fmt: skip
NO_INTERFACE = {"NCCL_SOCKET_IFNAME": "=absent"}
LEVELS = ("VERSION", "WARN", "ATTN", "INFO", "ABORT", "TRACE")


def ask(*cases):
    """Version to the log of each case."""
    (told,) = asked([{**NETWORK, "cases": [{"env": {"NCCL_DEBUG": "INFO", **env}, "files": {}, "init": init} for env, init in cases]}])
    return {version: [one["log"] for one in answers] for version, answers in told["answers"].items()}


def explained(log, folder):
    """What `hostagent nccl explain` says of it."""
    path = folder / "job.log"
    path.write_text(log)
    job = Job()
    for file, block in read_logs((str(path),)):
        job.read(file, block)
    return job.explain()


@pytest.fixture(scope="module")
def logs():
    return ask(({}, False), ({"NCCL_DEBUG_SUBSYS": "ALL"}, True), (NO_INTERFACE, False))


@pytest.mark.parametrize("version", LIBRARIES)
def test_a_communicator_that_fails_for_want_of_a_gpu_has_failed(logs, version, tmp_path):
    log = logs[version][1]
    found = explained(log, tmp_path)
    assert found.verdict == "failed"
    assert "Cuda failure 'CUDA driver version is insufficient for CUDA runtime version'" in {
        re.sub(r".*(?=Cuda failure)", "", line.text) for one in found.findings for line in one.lines
    }
    assert found.socket_ifname == ("eth0",)


@pytest.mark.parametrize("version", LIBRARIES)
def test_the_bootstrap_alone_proves_no_transport(logs, version, tmp_path):
    found = explained(logs[version][0], tmp_path)
    assert (found.verdict, found.socket_ifname, found.gdr) == ("unknown", ("eth0",), "unknown")


@pytest.mark.parametrize("version", LIBRARIES)
def test_a_list_that_takes_no_interface_has_failed(logs, version, tmp_path):
    found = explained(logs[version][2], tmp_path)
    assert found.verdict == "failed"
    assert any("no socket interface found" in line.text for one in found.findings for line in one.lines)


def test_nccl_takes_the_levels_that_we_say():
    asked_for = [*LEVELS, *map(str.lower, LEVELS), "DEBUG", "3", ""]
    answers = ask(*(({"NCCL_DEBUG": word, **NO_INTERFACE}, False) for word in asked_for))
    for version, told in answers.items():
        warns = {word for word, log in zip(asked_for, told, strict=True) if "NCCL WARN" in log}
        known = set(words("NCCL_DEBUG", parse_nccl_version(version))) - {"VERSION"}  # no warnings then
        assert warns == known | set(map(str.lower, known)), version
