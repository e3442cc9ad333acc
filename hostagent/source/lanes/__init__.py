"""The lanes there are, by name; each is described where its driver is known."""

from hostagent.source.lane import Lane
from hostagent.source.lanes.network import NETWORK
from hostagent.source.lanes.nvidia import NVIDIA
from hostagent.source.lanes.rdma import RDMA

LANES = {one.name: one for one in (NVIDIA, RDMA, NETWORK)}
_BY_METHOD = {method: one for one in LANES.values() for method in one.methods}
_DIRECTORIES = tuple(directory for one in LANES.values() for directory in one.directories)


def lane_of(method: str, path: str) -> "Lane | None":
    """Whose question that is. Asked of every question: most are told by how their path begins."""
    if method in _BY_METHOD:
        return _BY_METHOD[method]
    if method in ("read", "list") and path.startswith(_DIRECTORIES):
        return next((one for one in LANES.values() if one.has(method, path)), None)
    return None
