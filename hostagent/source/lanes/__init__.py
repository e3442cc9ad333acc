"""The lanes there are, by name; each is described where its driver is known."""

from hostagent.source.lanes.network import NETWORK
from hostagent.source.lanes.nvidia import NVIDIA
from hostagent.source.lanes.podresources import PODRESOURCES
from hostagent.source.lanes.rdma import RDMA

LANES = {one.name: one for one in (NVIDIA, PODRESOURCES, RDMA, NETWORK)}
