"""NVML's errors about a GPU that it lists and that answers nothing: NVML's words, and what to do. Source: nvml.h, nvmlReturn_t."""

from dataclasses import replace
from typing import NamedTuple

from hostagent.core.steps import Step
from hostagent.core.tables.recovery_actions import LOST, REBOOT

_POWER = Step("power_cycle", "Power the chassis off, and check the GPU's power cables and its seat.")
_READ = Step("drain_and_inspect", "Read what the driver logged about the GPU.", command="journalctl -k -b -g NVRM")


class Refusal(NamedTuple):
    words: str
    remedy: tuple[Step, ...]


#: By number; another has `LOST`.
REFUSALS = {
    1: Refusal("uninitialized", (_READ, *LOST)),
    2: Refusal("invalid argument", (_READ, *LOST)),
    3: Refusal("not supported", (_READ, *LOST)),
    6: Refusal("not found", (_READ, *LOST)),
    8: Refusal("insufficient external power", (_POWER, Step("replace", "Have the power supply or the GPU replaced.", if_back=True))),
    9: Refusal("driver not loaded", (_READ, *LOST)),
    11: Refusal("interrupt issue", (_READ, REBOOT, replace(_POWER, if_back=True))),
    12: Refusal("library not found", (_READ, *LOST)),
    13: Refusal("function not found", (_READ, *LOST)),
    18: Refusal("versions of library and driver differ", (REBOOT,)),
    19: Refusal("in use", (_READ, *LOST)),
    20: Refusal("out of memory", (_READ, *LOST)),
    28: Refusal("GPU not found", (_READ, *LOST)),
    29: Refusal("invalid state", (_READ, *LOST)),
    999: Refusal("unknown error", (_READ, *LOST)),
}


def refusal(code: int) -> Refusal:
    """For any number.

    >>> refusal(8).words, refusal(31).words
    ('insufficient external power', 'error 31')
    """
    return REFUSALS.get(code, Refusal(f"error {code}", (_READ, *LOST)))
