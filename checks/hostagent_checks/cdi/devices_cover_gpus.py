"""A GPU of this host is in no CDI specification: a job that is given it fails with "unresolvable CDI devices".

The specification was made before the GPU was there, or while it had fallen off. Names by index, by UUID and of the GPU's MIG
devices all count.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.cdi import Cdi
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile

from ._specs import valid_specs


@check(
    title="The CDI specifications name this GPU",
    severity="critical",
    since="0.1",
    remedy="Run 'systemctl restart nvidia-cdi-refresh.service', then 'nvidia-ctk cdi list'.",
    references=("NVIDIA Container Toolkit, support for the Container Device Interface: device naming",),
)
def devices_cover_gpus(gpu: Gpu, cdi: Cdi, profile: Profile) -> Findings:
    valid_specs(cdi, profile)
    names = {name.partition("=")[2] for name in need(cdi.devices)}
    index, uuid = need(gpu.index), need(gpu.uuid)
    own = {str(index), f"gpu{index}", uuid}
    if not own & names and not any(name.startswith((f"{index}:", f"mig{index}:")) for name in names):
        shown = ", ".join(sorted(names)[:8]) or "none"
        yield fail(
            f"GPU {index} ({uuid}) is in no specification; devices: {shown}", code="missing", found=shown, wanted=f"{index} or {uuid}"
        )
