"""An NVLink of the GPU counts many replays, recoveries or CRC errors: collectives slow down, and the link may drop.

The counters run from the load of the driver. A healthy link counts few or none in months; the limit leaves room for a few retrained links.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, need, skip, warn
from hostagent.core.tables.recovery_actions import RESET_ALL
from hostagent.facts.gpu import Gpu


class Params(NamedTuple):
    """max_errors_per_link: errors of one kind on one link since the driver was loaded; more than that warn"""

    max_errors_per_link: int = 100


@check(
    title="The GPU's NVLinks have few errors",
    severity="warning",
    since="0.1",
    headline="NVLinks of {device} have many errors",
    remedy=(
        RESET_ALL,
        Step("replace", "Check the NVLink bridge, or have the baseboard serviced.", if_back=True),
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetNvLinkErrorCounter",),
    confirm=("nvidia-smi nvlink -e -i <address>",),
)
def nvlink_errors(gpu: Gpu, params: Params) -> Findings:
    links = need(gpu.nvlinks) or skip("this card has no NVLink")
    for link in links:
        errors = need(link.errors)
        if errors > params.max_errors_per_link:
            text = f"NVLink {link.index} has had {errors} errors since the driver was loaded"
            yield warn(text, code="errors", found=errors, wanted=f"<= {params.max_errors_per_link}")
