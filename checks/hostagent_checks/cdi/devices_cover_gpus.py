"""No CDI specification names a GPU of this host: a job that gets the GPU fails with "unresolvable CDI devices".

The specification was made before the GPU was there, or while it was off the bus. Names by index, by UUID and of the GPU's MIG
devices all count. Only specifications of nvidia-ctk name each GPU; those of the device plugin and the DRA driver name what they hand out.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.domains.runtime.access import CTK_KIND
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.cdi_versions import RENEW
from hostagent.facts.cdi import Cdi
from hostagent.facts.gpu import Gpu

from ._specs import valid_specs


@check(
    title="The CDI specifications name this GPU",
    severity="critical",
    since="0.1",
    because=("gpu.on_bus", "gpu.lost", "gpu.init_failed"),
    headline="No CDI specification names {device}",
    remedy=(
        RENEW,
        Step("rerun", "See whether the GPU is listed now, then run hostagent again.", command="nvidia-ctk cdi list"),
    ),
    references=("NVIDIA Container Toolkit, support for the Container Device Interface: device naming",),
    confirm=(
        "nvidia-ctk cdi list",
        "nvidia-smi -L",
    ),
)
def devices_cover_gpus(gpu: Gpu, cdi: Cdi, choice: RuntimeChoice) -> Findings:
    if all(spec.kind != CTK_KIND for spec in valid_specs(cdi, choice)):
        skip(f"no runtime reads a specification of nvidia-ctk ({CTK_KIND})")
    names = {name.partition("=")[2] for name in need(cdi.devices) if name.partition("=")[0] == CTK_KIND}
    index, uuid = need(gpu.index), need(gpu.uuid)
    if {str(index), f"gpu{index}", uuid} & names or any(name.startswith((f"{index}:", f"mig{index}:")) for name in names):
        return
    if names == {"all"}:  # made to be asked for as a whole
        return
    if any(name.startswith("MIG-") for name in names) and need(gpu.mig).current:
        return
    if not isinstance(gpu.mig, Unread) and gpu.mig.current:
        skip("MIG is on without slices; cdi.mig_devices checks that")
    if names and not any(name.partition(":")[0].isdigit() or name.startswith(("GPU-", "MIG-", "gpu", "mig")) for name in names - {"all"}):
        skip("the specifications name no single GPU")
    shown = first_of(sorted(names), 8) or "none"
    yield fail(
        f"GPU {index} ({uuid}) is in no CDI specification; they have: {shown}", code="missing", found=shown, wanted=f"{index} or {uuid}"
    )
