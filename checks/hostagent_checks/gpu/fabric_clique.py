"""The GPUs of this host are in different NVLink partitions: a job on all of them cannot use NVLink between them."""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.core.tables.recovery_actions import RESET_ALL
from hostagent.facts.gpu import FabricInfo, Gpu


@check(
    title="All GPUs of the host are in one NVLink partition",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    headline="The GPUs of this host are in more than one NVLink partition",
    remedy=(
        Step("contact_owner", "Ask who runs the fabric manager or NMX why the partitions differ."),
        RESET_ALL,
    ),
    references=("NVIDIA NVML API Reference, nvmlGpuFabricInfoV_t, cliqueId and clusterUuid",),
    confirm=("nvidia-smi -q | grep -A8 Fabric  # 'CliqueId' and 'ClusterUUID' of each GPU",),
)
def fabric_clique(gpus: tuple[Gpu, ...]) -> Findings:
    joined = [fabric for fabric in (_fabric(gpu) for gpu in gpus) if fabric and fabric.state == "completed"]
    if len(joined) < 2:
        skip("fewer than two GPUs of this host are on a fabric")
    partitions = sorted({f"{one.cluster_uuid}.{one.clique_id}" for one in joined})
    if len(partitions) > 1:
        yield fail(
            f"{len(joined)} GPUs are in {len(partitions)} partitions", code="several", found=first_of(partitions), wanted="one partition"
        )


def _fabric(gpu: Gpu) -> FabricInfo | None:
    fabric = gpu.fabric
    has_other = not isinstance(gpu.bound_to, Unread) and gpu.bound_to != "nvidia"  # its fabric is not this host's
    is_none = isinstance(fabric, Unread) and (fabric.why == "not-supported" or (has_other and fabric.why == "absent"))
    return None if is_none else need(fabric)
