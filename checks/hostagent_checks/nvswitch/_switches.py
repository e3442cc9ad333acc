"""The switches that this host itself has to run, and the daemons that do it.

A compute node of GB200 has GPUs on a fabric and runs none of it: its switches are elsewhere.
"""

from hostagent.check import counted, need, skip
from hostagent.facts.host import Machine
from hostagent.facts.nvswitch import Fabric


def local_switches(fabric: Fabric) -> str:
    """What fabric this host has to run, in words; the check does not apply where it has none."""
    if switches := need(fabric.nvswitches):
        return counted(len(switches), "NVSwitch")
    if bridges := need(fabric.nvlink5_managers):
        return f"NVLink 5 switches behind {', '.join(bridges)}"
    return skip("this host has no NVSwitch of its own")


def nvlink5_bridges(fabric: Fabric) -> tuple[str, ...]:
    """The HCAs that lead to NVLink 5 switches; the check does not apply where there is none."""
    return need(fabric.nvlink5_managers) or skip("this host has no NVLink 5 switches of its own")


def runs(machine: Machine, process: str) -> bool:
    """Whether the daemon is there."""
    return bool(need(machine.daemons(process)))
