"""``--env-file``: what a job's environment is read from, what is no environment, and what of one is kept."""

import subprocess

import pytest

from hostagent.errors import HostagentError
from hostagent.source.environment import MAX_BYTES, parse_environment


def variables(data):
    return parse_environment(data, "f")["variables"]


def test_entries_of_a_process_are_taken_as_they_are():
    written = subprocess.run(["env", "-i", "-0", "NCCL_IB_HCA= =a\n\"b\" ", "X=1\nNCCL_NET=Socket"], capture_output=True, check=True).stdout
    with subprocess.Popen(["env", "-i", "NCCL_IB_HCA= =a\n\"b\" ", "X=1\nNCCL_NET=Socket", "sleep", "60"]) as sleeper:
        try:
            with open(f"/proc/{sleeper.pid}/environ", "rb") as stream:
                seen = stream.read()
        finally:
            sleeper.kill()
    assert variables(written) == {"NCCL_IB_HCA": ' =a\n"b" '}
    assert seen == b"" or variables(seen) == variables(written)
