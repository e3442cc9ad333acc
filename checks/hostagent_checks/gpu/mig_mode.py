"""The MIG mode is not the one that the profile asks for: a job for a whole GPU cannot use one cut into instances, nor the reverse."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.runtime.tables.cdi_versions import RENEW_AFTERWARDS as RENEW_CDI
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile


@check(
    title="The MIG mode is the one that the profile asks for",
    severity="critical",
    since="0.1",
    because=("gpu.mig_pending",),
    headline="MIG of {device} is {found}, the profile asks for {wanted}",
    remedy=(
        Step("reset_gpu", "Change the MIG mode (1 turns it on, 0 off).", command="nvidia-smi -i {subject} -mig <0 or 1>"),
        RENEW_CDI,
    ),
    references=("NVIDIA Multi-Instance GPU User Guide",),
    confirm=("nvidia-smi -q -i <address> | grep -A2 'MIG Mode'",),
)
def mig_mode(gpu: Gpu, profile: Profile) -> Findings:
    wanted = profile.gpus.mig
    if wanted == "any":
        skip("the profile accepts any MIG mode")
    found = "enabled" if need(gpu.mig).current else "disabled"
    if found != wanted:
        number, word = ("1", "on") if wanted == "enabled" else ("0", "off")
        change = Step("reset_gpu", f"Turn MIG {word}; a GPU before Hopper then needs a reset.", f"nvidia-smi -i {{subject}} -mig {number}")
        text = f"MIG is {found}, the profile asks for {wanted}"
        yield fail(text, code=found, found=found, wanted=wanted, remedy=(change, RENEW_CDI))
