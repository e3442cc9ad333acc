"""kwok, which stands in for the kubelets of nodes in tests: it starts no container, and says that each pod runs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.real.cluster import Cluster, Part
from tests.real.conftest import need_real

#: The annotation of the nodes that it manages, for `Cluster.nodes`. It writes nothing to a node that is Ready already.
MANAGED = {"kwok.x-k8s.io/node": "fake"}
_STAGES = Path(__file__).parents[1] / "democluster/stages.yaml"


@contextlib.contextmanager
def kwok(cluster: Cluster) -> "Iterator[Part]":
    """Runs pods of nodes with the annotation `MANAGED`, until the block ends."""
    folder = Path(cluster.folder)
    program = need_real("cluster-tools/kwok", "bash tests/real/install_cluster_tools.sh")
    selector = ",".join(f"{key}={value}" for key, value in MANAGED.items())
    config = cluster.kubeconfig(folder / "kwok.kubeconfig")
    part = Part(
        [program, "--kubeconfig", config, "--config", _STAGES, "--manage-nodes-with-annotation-selector", selector], folder / "kwok.log"
    )
    try:
        yield part
    finally:
        part.end()
