"""What a recovery takes in: whoever does the one has done the others.

NVIDIA, GPU Debug Guidelines (r580): reset the GPU, then reboot, then power-cycle; what comes back after that is a case for the vendor.
"""

from collections.abc import Mapping

from hostagent.vocabulary import Action

TAKES_IN: Mapping[Action, frozenset[Action]] = {
    "reboot": frozenset(("restart_service", "reset_gpu")),
    "power_cycle": frozenset(("restart_service", "reset_gpu", "reboot")),
    "replace": frozenset(("restart_service", "reset_gpu", "reboot", "power_cycle")),
}

#: Running jobs do not survive these.
ENDS_JOBS: frozenset[Action] = frozenset(("drain_and_inspect", "reset_gpu", "reboot", "power_cycle", "replace"))
