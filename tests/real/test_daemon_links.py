"""A daemon over this machine, in a network namespace of its own, and what links that change there make it do."""

import json
import os
import subprocess
import sys

import pytest

from tests.cpu import crowding
from tests.real.conftest import need_real

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="makes network namespaces: run the tests as root")
#: Seconds from the change to the published pass; and the processor time of 100 pairs a minute, as a multiple of a quiet minute's.
TOLD_S, COST = 2.0, 1.5


def inside(mode):
    need_real("ip", "apt-get install iproute2")
    argv = ["unshare", "--net", "--mount", sys.executable, "-m", "tests.real.daemon_links_inside", mode]
    completed = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)
    assert completed.returncode == 0, completed.stderr
    return json.loads(completed.stdout)


def test_a_link_that_changes_starts_a_pass_and_veths_of_pods_start_none():
    """Of a bond, or of a macvlan on a kernel without bonding: the veth that changes is below it, and so is taken."""
    found = inside("events")
    assert found["upper"] in ("bond0", "mv0")
    assert found["problems"] == []
    assert found["untaken"] == {}
    assert all(took_s <= TOLD_S * crowding() for took_s in found["took_s"].values()), found["took_s"]
    assert len(found["took_s"]) == 3
    assert all([trigger for trigger, _ in triggers] == ["link"] for triggers in found["triggers"].values()), found["triggers"]
    assert found["code"] == 0


@pytest.mark.full
def test_a_hundred_pods_a_minute_cost_half_a_quiet_minute_at_most():
    """A quiet minute has one pass, by the interval."""
    found = inside("cost")
    assert (found["passes"], found["more"]) == (False, 1), found
    assert found["busy_s"] + found["pass_s"] <= COST * (found["quiet_s"] + found["pass_s"]), found
