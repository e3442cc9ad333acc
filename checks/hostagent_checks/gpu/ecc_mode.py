"""The ECC mode is not the one that the profile asks for.

Without it, memory faults turn into wrong results instead of errors. With it, some older cards have less memory.
GeForce and TITAN cards and those for workstations come without it or with it off; they are left out.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.core.tables.recovery_actions import RESET
from hostagent.facts.gpu import Gpu
from hostagent.profile import Profile

#: Parts of names of cards that come with ECC off or without it, and what makes one a server's card again.
_OFF_BY_DEFAULT, _OF_SERVERS = ("GeForce", "TITAN", "Quadro", "RTX"), "Server"


@check(
    title="The ECC mode is the one that the profile asks for",
    severity="warning",
    since="0.1",
    because=("gpu.ecc_pending",),
    headline="ECC of {device} is {found}, the profile asks for {wanted}",
    remedy=(
        Step("configure", "Change the ECC mode (1 turns it on, 0 off).", command="nvidia-smi -i {subject} --ecc-config=<0 or 1>"),
        RESET,
    ),
    references=("NVIDIA NVML API Reference, nvmlDeviceGetEccMode",),
    confirm=("nvidia-smi -q -i <address> -d ECC  # 'Current'",),
)
def ecc_mode(gpu: Gpu, profile: Profile) -> Findings:
    wanted = profile.gpus.ecc
    if wanted == "any":
        skip("the profile accepts any ECC mode")
    found = "enabled" if need(need(gpu.ecc).enabled) else "disabled"
    if found == "disabled" and wanted == "enabled" and _comes_with_it_off(need(gpu.name)):
        skip(f"{gpu.name}: these cards come with ECC off")
    if found != wanted:
        number, word = ("1", "on") if wanted == "enabled" else ("0", "off")
        change = Step(
            "configure", f"Turn ECC {word}: it changes when the GPU is reset.", f"nvidia-smi -i {{subject}} --ecc-config={number}"
        )
        text = f"ECC is {found}, the profile asks for {wanted}"
        yield fail(text, code=found, found=found, wanted=wanted, remedy=(change, RESET))


def _comes_with_it_off(name: str) -> bool:
    return _OF_SERVERS not in name and any(part in name for part in _OFF_BY_DEFAULT)
