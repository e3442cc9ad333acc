"""IMEX does not run: jobs over several nodes of one NVLink rack cannot share GPU memory, and fall back or fail.

It has to run where the profile says so, and on a node of a rack whose own files do: its unit is enabled, its list names nodes, and no
plug-in of the DRA driver starts it in pods. A unit that is enabled with an empty list is what the package leaves behind, and one that is
disabled or masked was switched off on purpose: both are silent.
"""

from hostagent.check import Findings, Step, check, fail, skip
from hostagent.core.tables.nvlink_fabric import IMEX_PROCESS
from hostagent.facts.host import Machine

from ._imex import ImexUse, skip_unless_used
from ._switches import runs


@check(
    title="IMEX runs",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    because=("nvswitch.imex_version", "nvswitch.imex_configured", "nvswitch.imex_nodes"),
    headline="IMEX is not running",
    remedy=(Step("restart_service", "Start IMEX; its log is /var/log/nvidia-imex.log.", command="systemctl enable --now nvidia-imex"),),
    references=("NVIDIA IMEX Service Guide", "kubernetes-sigs/dra-driver-nvidia-gpu, Prerequisites, Driver-managed IMEX"),
    confirm=(
        "systemctl status nvidia-imex.service",
        "nvidia-imex-ctl -N  # the state of each node of the domain",
    ),
)
def imex_running(machine: Machine, use: ImexUse) -> Findings:
    skip_unless_used(use)
    if not use.is_by_evidence:
        if not runs(machine, IMEX_PROCESS):
            yield fail("there is no nvidia-imex process", code="not-running", found="not running", wanted="running")
    elif use.is_seen:
        if not use.runs:
            yield fail(
                "nvidia-imex is enabled and has a list of nodes, but there is no nvidia-imex process",
                code="enabled",
                found="not running",
                wanted="running",
                at_most="warning",
            )
    else:
        skip("the profile does not ask for IMEX, and whether it runs cannot be seen")
