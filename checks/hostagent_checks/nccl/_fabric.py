"""NVLink fabrics that GPUs join, as NCCL sees them: NVLink SHARP needs one, NVLink between hosts one of a cluster."""

from hostagent.check import Unread, need, skip
from hostagent.facts.gpu import Gpu

_NONE = "not-supported"


def clusters(gpus: tuple[Gpu, ...] | Unread) -> "tuple[str | None, ...]":
    """Of each GPU the cluster whose fabric it joins, "" for that of one host; None where it joins none. Raises ``UnreadError``."""
    return tuple(_cluster(gpu) for gpu in need(gpus)) or skip("the host has no GPU")


def _cluster(gpu: Gpu) -> "str | None":
    if isinstance(gpu.fabric, Unread) and gpu.fabric.why == _NONE:
        return None
    found = need(gpu.fabric)
    return None if found.state == _NONE else found.cluster_uuid.strip("0-")
