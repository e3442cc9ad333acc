"""MIG is on or off against the profile: a job for a whole GPU does not start on a GPU that is cut into instances, and the reverse."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile


@check(
    title="MIG is as the profile wants it",
    severity="critical",
    since="0.1",
    because=("gpu.mig_pending",),
    headline="MIG of {device} is {found}, the profile wants {wanted}",
    remedy=(
        Step("reset_gpu", "Change the MIG mode (1 on, 0 off) and reset the GPU.", command="nvidia-smi -i {subject} -mig 0"),
        Step("restart_service", "Renew the CDI specification.", command="systemctl restart nvidia-cdi-refresh.service"),
    ),
    references=("NVIDIA Multi-Instance GPU User Guide",),
    confirm=("nvidia-smi -q -i <address> | grep -A2 'MIG Mode'",),
)
def mig_mode(gpu: Gpu, profile: Profile) -> Findings:
    wanted = profile.gpus.mig
    if wanted == "any":
        skip("the profile takes any MIG mode")
    found = "enabled" if need(gpu.mig).current else "disabled"
    if found != wanted:
        yield fail(f"MIG is {found}, profile wants {wanted}", code=found, found=found, wanted=wanted)
