"""The gate on newer Slurms: 24.11 (Debian 13) and 26.05 (Debian testing), each in a root of its own."""

import random
import time

import pytest

from hostagent.core.errors import HostagentError
from tests.real import slurmroots, slurmrun
from tests.real.slurmgate import PARTITIONS, Site, foretold, of_one_user
from tests.real.test_slurm_versions import SUITES

pytestmark = pytest.mark.full
SEEDS = range(100, 110)


@pytest.fixture(scope="module", params=SUITES)
def site(request, tmp_path_factory):
    home = tmp_path_factory.mktemp("slurm")
    with slurmroots.root(request.param, home) as root:
        assert root.version >= SUITES[request.param]
        with slurmrun.started(home / "c", interval=3600, more=PARTITIONS, held=True, place=root) as made:
            yield Site(made)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_job_begins_exactly_where_the_gate_says_on_newer_releases(site, seed):
    assert foretold(site, random.Random(seed)) == []


def test_a_silent_slurmctld_of_a_newer_release_is_a_failure_in_time(site):
    site.settle()
    began = time.monotonic()
    with site.silent(), pytest.raises(HostagentError, match=r"cannot read the cluster of Slurm: scontrol failed: .*timed out"):
        site.answer(1, 1)
    assert time.monotonic() - began < 25


def test_a_node_of_one_user_serves_that_user_alone_on_newer_releases(site, monkeypatch):
    assert of_one_user(site, monkeypatch) == [(("n1",), ("n1",)), (("n1",), ("n1",)), ((), ()), (("n2",), ("n2",))]
