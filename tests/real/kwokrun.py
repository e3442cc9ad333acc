"""kwok, which stands in for the kubelets of nodes in tests: it starts no container, and says that each pod runs."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.real.cluster import Cluster, Part
from tests.real.conftest import need_real

#: The annotation of the nodes that it manages, for `Cluster.nodes`. It writes nothing to a node that is Ready already.
MANAGED = {"kwok.x-k8s.io/node": "fake"}
#: Without a stage for nodes it takes no node for its own: this one never comes.
_STAGES = """\
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: node}
spec:
  resourceRef: {apiGroup: v1, kind: Node}
  selector:
    matchExpressions:
      - {key: .metadata.name, operator: In, values: [none]}
  next: {statusTemplate: "phase: Running"}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-ready}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - {key: .metadata.deletionTimestamp, operator: DoesNotExist}
      - {key: .status.phase, operator: In, values: [Pending]}
  next:
    statusTemplate: |
      phase: Running
      startTime: {{ Now | Quote }}
      conditions:
      {{ range $type := list "PodScheduled" "Initialized" "ContainersReady" "Ready" }}
      - {type: {{ $type }}, status: "True", lastTransitionTime: {{ Now | Quote }}}
      {{ end }}
      containerStatuses:
      {{ range .spec.containers }}
      - {name: {{ .name }}, image: {{ .image | Quote }}, ready: true, restartCount: 0, state: {running: {startedAt: {{ Now | Quote }}}}}
      {{ end }}
---
apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata: {name: pod-delete}
spec:
  resourceRef: {apiGroup: v1, kind: Pod}
  selector:
    matchExpressions:
      - {key: .metadata.deletionTimestamp, operator: Exists}
  next: {delete: true}
"""


@contextlib.contextmanager
def kwok(cluster: Cluster) -> "Iterator[Part]":
    """Runs pods of nodes with the annotation `MANAGED`, until the block ends."""
    folder = Path(cluster.folder)
    stages = folder / "kwok.yaml"
    stages.write_text(_STAGES)
    program = need_real("cluster-tools/kwok", "bash tests/real/install_cluster_tools.sh")
    selector = ",".join(f"{key}={value}" for key, value in MANAGED.items())
    config = cluster.kubeconfig(folder / "kwok.kubeconfig")
    part = Part(
        [program, "--kubeconfig", config, "--config", stages, "--manage-nodes-with-annotation-selector", selector], folder / "kwok.log"
    )
    try:
        yield part
    finally:
        part.end()
