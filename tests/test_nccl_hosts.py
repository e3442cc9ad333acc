"""Settings of NCCL as clouds ship them and guides name them, on every recorded host that is ready: they stop no job there."""

from functools import cache

from hostagent.domains.nccl.tables.variables import variables
from hostagent.engine.catalogue import OURS, load
from hostagent.engine.collect import collect
from hostagent.engine.evaluate import evaluate
from hostagent.facts.hostfacts import HostFacts
from hostagent.facts.nccl import Nccl, NcclLibrary, NcclSetting
from hostagent.host.recording import ReplayBackend
from hostagent.host.source import Source
from hostagent.profiles.profile import load as profile
from hostagent.testing import input_kinds
from tests.over import over
from tests.recorded import NAMES, expectation_of, tape_of

FAMILY = [one for one in load([OURS]) if one.id.startswith("nccl.")]
KINDS = tuple(dict.fromkeys(kind for one in FAMILY for kind in input_kinds(one) if kind is not Nccl))
READY = [name for name in NAMES if expectation_of(name)["multi_node"] == "ready"]
TOPOLOGY = "/opt/microsoft/ndv5-topo.xml"
#: Checks of single settings: what they need of a host is there on one that is ready.
SINGLE = {"debugging", "features", "gid_index", "gpu_paths", "gpudirect", "levels", "names", "nvlink_sharp", "partition_key", "relaxed_ordering",
          "repeated", "retries", "topology_file", "traffic_class", "tuning", "values"}  # fmt: skip
#: Azure/azhpc-images (/etc/nccl.conf); what guides of clusters with RoCE have in common.
PUBLISHED = {
    "no setting": {},
    "Azure": {"NCCL_IB_PCI_RELAXED_ORDERING": "1", "NCCL_TOPO_FILE": TOPOLOGY, "NCCL_IGNORE_CPU_AFFINITY": "1"},
    "guides": {
        "NCCL_DEBUG": "INFO",
        "NCCL_IB_TC": "106",
        "NCCL_IB_TIMEOUT": "22",
        "NCCL_IB_RETRY_CNT": "7",
        "NCCL_IB_QPS_PER_CONNECTION": "4",
        "NCCL_IB_HCA": "mlx5",
        "NCCL_CROSS_NIC": "1",
        "NCCL_NET_GDR_LEVEL": "PHB",
        "NCCL_P2P_LEVEL": "NVL",
        "NCCL_NVLS_ENABLE": "0",
        "NCCL_ALGO": "Ring",
    },
}


@cache
def facts_of(name):
    found, _ = collect(Source(ReplayBackend(tape_of(name))), [kind.__name__ for kind in KINDS])
    return {kind: found.of(kind) for kind in KINDS}


def a_job(values):
    rows = (
        NcclSetting(name, value, name in variables(), "/etc/nccl.conf", line, wins=True)
        for line, (name, value) in enumerate(values.items(), 1)
    )
    library = NcclLibrary("/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9", "linker", "2.28.9", "12.9")
    return Nccl(libraries=(library,), plugins=(), settings=tuple(rows), has_environment=False, files=(TOPOLOGY,))


def test_there_are_hosts_to_look_at():
    assert len(READY) >= 20


@over("what", PUBLISHED)
@over("name", READY)
def test_published_settings_stop_no_job_of_a_ready_host(name, what):
    """Not even where jobs need RDMA."""
    strict = profile("default", site_file="", overlay={"rdma": {"required": "yes"}}).profile
    found = evaluate(FAMILY, HostFacts({**facts_of(name), Nccl: a_job(PUBLISHED[what])}), strict)
    single = [one for one in found if one.id.partition(".")[2] in SINGLE]
    assert [
        (one.id, one.code, one.message) for one in single if one.outcome == "unknown" or (one.outcome, one.severity) == ("fail", "critical")
    ] == []
