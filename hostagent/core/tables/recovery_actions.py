"""Recovery actions: reset, reboot, power cycle, replace. Which actions each includes, and their equivalents without access to the board.

NVIDIA, GPU Debug Guidelines (r580): reset the GPU, then reboot, then power-cycle; what comes back after that is a case for the vendor.
A virtual machine's GPUs are reset as it starts (function-level reset: Linux kernel, Documentation/driver-api/vfio.rst); its slot, its power
and its board are its provider's. A container can do none of these.
"""

from collections.abc import Mapping
from dataclasses import replace

from hostagent.core.steps import Step
from hostagent.core.vocabulary import Action, Virtual

TAKES_IN: Mapping[Action, frozenset[Action]] = {
    "reboot": frozenset(("restart_service", "reset_gpu")),
    "power_cycle": frozenset(("restart_service", "reset_gpu", "reboot")),
    "replace": frozenset(("restart_service", "reset_gpu", "reboot", "power_cycle")),
}

#: Actions that end running jobs.
ENDS_JOBS: frozenset[Action] = frozenset(("drain_and_inspect", "reset_gpu", "reboot", "power_cycle", "replace"))

RESET_COMMAND, RESET_ALL_COMMAND = "nvidia-smi --gpu-reset -i {subject}", "nvidia-smi --gpu-reset"
RESET = Step("reset_gpu", "Reset the GPU.", RESET_COMMAND)
RESET_LATER = Step("reset_gpu", "At the next maintenance, reset the GPU.", RESET_COMMAND)
RESET_ALL = Step("reset_gpu", "Reset all GPUs of the node together.", RESET_ALL_COMMAND)
REBOOT = Step("reboot", "Reboot the node.")
POWER_CYCLE = Step("power_cycle", "Power the chassis off and on.")
REPLACE = Step("replace", "Have the GPU replaced.")
REPLACE_IF_BACK = replace(REPLACE, if_back=True)
#: What the driver asks for, by number: nvml.h, NVML_GPU_RECOVERY_ACTION_*; an Xid 154 has the same numbers.
DRIVER_ACTIONS = (
    *("none", "gpu-reset", "node-reboot", "drain-p2p", "drain-and-reset"),
    *("recover-imex-domain", "bus-reset", "system-reboot"),
)
DRIVER_STEPS: Mapping[str, Step] = {
    "gpu-reset": RESET,
    "node-reboot": Step("reboot", "Reboot the node: the driver asks for it (Xid 154)."),
    "drain-p2p": Step("drain_and_inspect", "End the jobs that reach this GPU from other GPUs: the driver asks for it (Xid 154)."),
    "drain-and-reset": RESET_LATER,
    "recover-imex-domain": Step(
        "restart_service", "Restart IMEX on this and on all other nodes of the NVLink domain.", "systemctl restart nvidia-imex"
    ),
    "bus-reset": Step("reboot", "Reboot the node: the driver asks for a reset of the GPU's PCI bus (Xid 154)."),
    "system-reboot": Step("power_cycle", "Power the chassis off and on: the driver asks for it (Xid 154)."),
}
#: The GPU goes on meanwhile: until it is idle, or while the NVLink domain of its rack is recovered.
GOES_ON = ("drain-and-reset", "recover-imex-domain")
#: For a GPU that is no longer reachable.
LOST = (REBOOT, Step("power_cycle", "Power the chassis off and on; after that, have the GPU reseated or replaced.", if_back=True))

_IN_A_MACHINE: Mapping[Action, Step] = {
    "reset_gpu": Step("reboot", "Reboot the node: a virtual machine's GPUs are reset as it starts."),
    "power_cycle": Step("power_cycle", "Stop the virtual machine and start it again."),
    "replace": Step("contact_owner", "Ask the provider of this virtual machine for other hardware."),
}


def where_it_runs(step: Step, virtual: Virtual) -> Step:
    """The step as far as it is possible: a virtual machine or a container has no access to the board.

    >>> where_it_runs(REPLACE_IF_BACK, "vm").text, where_it_runs(RESET_LATER, "vm").text
    ('Ask the provider of this virtual machine for other hardware.', 'At the next maintenance, reboot the node: that resets its GPUs.')
    >>> where_it_runs(REBOOT, "container").text
    'Ask who runs the machine below this container. It needs this: Reboot the node.'
    """
    if virtual == "container" and step.action in (*_IN_A_MACHINE, "reboot"):
        return replace(
            step, action="contact_owner", text=f"Ask who runs the machine below this container. It needs this: {step.text}", command=""
        )
    if virtual == "vm" and step.action in _IN_A_MACHINE:
        if step == RESET_LATER:
            return Step("reboot", "At the next maintenance, reboot the node: that resets its GPUs.")
        return replace(_IN_A_MACHINE[step.action], if_back=step.if_back)
    return step
