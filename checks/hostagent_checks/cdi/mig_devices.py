"""MIG was switched after the CDI specification was made: it names the whole GPU where there are slices, or slices that are gone.

No job can get a GPU without slices: that blocks the host if no other GPU is left. It is information where something here makes
slices: the DRA driver for each claim, mig-manager (the unit of NVIDIA's mig-parted, or the GPU Operator's, which runs with its
device plugin). Nothing watches for a change of MIG, not even the refresh unit. A job that gets such a device fails to start, or
starts and finds no GPU.
"""

from hostagent.check import NOT_APPLICABLE, Findings, Unread, check, fail, first_of, need, skip, warn
from hostagent.domains.runtime.access import CTK_KIND, slice_maker
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.cdi_versions import RENEW
from hostagent.facts.cdi import Cdi
from hostagent.facts.gpu import Gpu
from hostagent.facts.host import Services
from hostagent.facts.toolkit import Toolkit

from ._specs import valid_specs


@check(
    title="The CDI specifications match the GPU's MIG mode",
    severity="critical",
    since="0.1",
    headline="The CDI specification does not match the MIG mode of {device}",
    remedy=(RENEW,),
    references=("NVIDIA Container Toolkit, CDI: limitations of the automatic refresh",),
    confirm=(
        "nvidia-smi -L  # lists the MIG devices there are",
        "nvidia-ctk cdi list",
    ),
)
def mig_devices(gpu: Gpu, gpus: tuple[Gpu, ...], cdi: Cdi, choice: RuntimeChoice, toolkit: Toolkit, services: Services) -> Findings:
    mig, index = need(gpu.mig), need(gpu.index)
    if all(spec.kind != CTK_KIND for spec in valid_specs(cdi, choice)):
        skip(f"no runtime reads a specification of nvidia-ctk ({CTK_KIND})")
    listed = [name for name in need(cdi.devices) if name.partition("=")[0] == CTK_KIND]
    names = {name.partition("=")[2].removeprefix("mig").removeprefix("gpu") for name in listed}
    if any(name.startswith(("GPU-", "MIG-")) for name in names) and not any(name.partition(":")[0].isdigit() for name in names):
        skip("the specifications name devices by UUID alone")
    slices = sorted(name for name in names if name.startswith(f"{index}:"))
    if mig.current and not slices:
        maker = slice_maker(choice.launchers, toolkit, services)
        say = warn if maker or any(_can_be_given(one, names) for one in gpus) else fail
        message = f"MIG is on, but no CDI specification has a MIG device of GPU {index}{f': {maker} makes slices' if maker else ''}"
        yield say(message, code="no-slices", found="none", wanted=f"{index}:0 …", at_most="info" if maker else None)
    if not mig.current and slices:
        yield fail(
            f"MIG is off, but the CDI specification still has {first_of(slices)}",
            code="stale-slices",
            found=first_of(slices),
            wanted="none",
        )


def _can_be_given(gpu: Gpu, names: set[str]) -> bool:
    """A GPU that has no MIG, or has it off; or one in slices. What could not be read is none."""
    if isinstance(gpu.mig, Unread):
        return gpu.mig.why in NOT_APPLICABLE
    index = gpu.index
    return not gpu.mig.current or (not isinstance(index, Unread) and any(name.startswith(f"{index}:") for name in names))
