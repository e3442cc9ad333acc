"""Memory error correction (ECC) is on or off against the profile.

Without it, memory faults turn into wrong results instead of errors. With it, some older cards have less memory.
GeForce and TITAN cards and those for workstations come without it or with it off; they are left out.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile

#: Parts of names of cards that come with ECC off or without it, and what makes one a server's card again.
_OFF_BY_DEFAULT, _OF_SERVERS = ("GeForce", "TITAN", "Quadro", "RTX"), "Server"


@check(
    title="ECC is as the profile wants it",
    severity="warning",
    since="0.1",
    because=("gpu.ecc_pending",),
    headline="ECC of {device} is {found}, the profile wants {wanted}",
    remedy=(
        Step("configure", "Change the ECC mode (1 on, 0 off).", command="nvidia-smi -i {subject} --ecc-config=1"),
        Step("reset_gpu", "Reset the GPU, or reboot the node: the change waits for that."),
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetEccMode",),
    confirm=("nvidia-smi -q -i <address> -d ECC  # 'Current'",),
)
def ecc_mode(gpu: Gpu, profile: Profile) -> Findings:
    wanted = profile.gpus.ecc
    if wanted == "any":
        skip("the profile takes any ECC mode")
    found = "enabled" if need(need(gpu.ecc).enabled) else "disabled"
    if found == "disabled" and wanted == "enabled" and _comes_with_it_off(need(gpu.name)):
        skip(f"{gpu.name}: these cards come with ECC off")
    if found != wanted:
        yield fail(f"ECC is {found}, profile wants {wanted}", code=found, found=found, wanted=wanted)


def _comes_with_it_off(name: str) -> bool:
    return _OF_SERVERS not in name and any(part in name for part in _OFF_BY_DEFAULT)
