"""The GIDs that jobs need lie at different indexes of the rails' tables: one value of NCCL_IB_GID_INDEX does not fit all.

NCCL from 2.21 on finds the GID of each port itself. Up to 2.20 it takes index 0, or the one index that the setting names. Indexes
shift where interfaces have VLANs, more addresses, or were set up in another order.
"""

from hostagent.check import Findings, Step, check, need, skip, warn
from hostagent.domains.network.gids import is_ipv4, is_routable
from hostagent.domains.network.rails import Rails
from hostagent.domains.network.tables.rdma_devices import ETHERNET
from hostagent.facts.rdma import RdmaPort

from ._rails import each, is_efa, need_no, ports_of


@check(
    title="The GIDs that jobs need have one index on all RoCE ports",
    severity="info",
    scope="fabric",
    since="0.1",
    explains=("gid", "no-path"),
    headline="No one NCCL_IB_GID_INDEX fits all RoCE ports that jobs use",
    remedy=(Step("configure", "Use NCCL 2.21 or newer, and set no NCCL_IB_GID_INDEX."),),
    references=("NCCL documentation, environment variables: NCCL_IB_GID_INDEX",),
    confirm=("grep . /sys/class/infiniband/*/ports/*/gids/[0-9] 2>/dev/null",),
)
def gid_index(rails: Rails) -> Findings:
    everyone = ports_of(rails)
    ours = tuple(port for port in everyone if need(port.link_layer) == ETHERNET and not is_efa(port))
    if len(ours) < 2:
        skip("there are no two RoCE ports that carry traffic of jobs")
    found, gaps = each(ours, _indexes)
    sets = [indexes for indexes in found.values() if indexes]
    if sets and not frozenset.intersection(*sets):
        evidence = tuple(f"{name}: {', '.join(map(str, sorted(indexes)))}" for name, indexes in found.items() if indexes)
        firsts = ", ".join(sorted({str(min(indexes)) for indexes in sets}))
        yield warn(f"the GIDs lie at indexes {firsts}", code="differs", found=firsts, wanted="one index", evidence=evidence)
    need_no(gaps, found)


def _indexes(port: RdmaPort) -> frozenset[int]:
    return frozenset(one.index for one in need(port.gids) if is_routable(one) and is_ipv4(one))
