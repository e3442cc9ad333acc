"""What each field of the document says, for its schema: by the path of its names; what a report has, too, in the report's words."""

from collections.abc import Mapping

from hostagent.report.described import DESCRIPTIONS as REPORT

_FACTS = "facts.topology."
_OWN: Mapping[str, str] = {
    "cores": "The CPUs of each core, as lists.",
    "capacity": "How many GPUs, CPUs and NICs one NUMA node has for a pod.",
    "placeable": "For each pod that was asked about, in order, whether this host's kubelet admits it. Without one, the profile's pods.",
    "placeable.shape": "The pod: what was asked, or the file and the object's name.",
    "placeable.policy": "The kubelet's topology manager policy.",
    "placeable.scope": "The scope of that policy: each container by itself, or the pod.",
    "placeable.admitted": "Whether the kubelet admits it.",
    "placeable.aligned": "Whether every resource comes from one smallest set of NUMA nodes, by guarantee.",
    "placeable.numa_nodes": "Those NUMA nodes; empty where none were chosen.",
    "placeable.reason": "The kubelet's own word for the rejection, KubeletNotStarting, KubeletPanic, or empty.",
    "placeable.message": "Why, for people. It may change from release to release.",
    "placeable.fix": "The smallest change that lets it start, proved by the model; all empty where there is none.",
    "placeable.fix.configuration": "Fields of KubeletConfiguration with their new values.",
    "placeable.fix.pod": "Quantities that the pod itself asks for with their new values.",
    "placeable.fix.steps": "How to make that change on this host.",
    "findings": "What the checks of topology, kubelet, RDMA and network found: those that failed or warned.",
}
_HEAD = (
    "schema_version",
    "tool",
    "observed_at",
    "observed_at_iso",
    "boot_id",
    "read_from",
    "replayed",
    "simulated",
    "host",
    "profile",
    "findings",
)

#: By the path of its names.
DESCRIPTIONS: Mapping[str, str] = {
    **{path: text for path, text in REPORT.items() if path.partition(".")[0] in _HEAD},
    **{path.removeprefix(_FACTS): text for path, text in REPORT.items() if path.startswith(_FACTS)},
    **{path.removeprefix("facts."): text for path, text in REPORT.items() if path.startswith("facts.fabric")},
    **{f"placeable.fix.steps.{name}": REPORT[f"findings.remedy.{name}"] for name in ("action", "text", "command", "if_back")},
    **_OWN,
}
