"""IMEX is enabled and has a list of nodes on a node of an NVLink rack, but it does not run, or has another version than the driver: jobs
over several nodes of the rack cannot share GPU memory, and fall back or fail.

The host's own files ask for IMEX here: its unit is enabled, and its list names nodes. A unit that is enabled with an empty list is what
the package leaves behind, and one that is disabled or masked was switched off on purpose: both are silent, as are nodes whose IMEX the
DRA driver starts in pods. Where the profile asks for IMEX, `nvswitch.imex_running` and `nvswitch.imex_version` judge it.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.profile import Profile

from ._imex import ImexUse, other_versions, skip_unless_all


@check(
    title="The enabled IMEX runs, in the driver's version",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    because=("nvswitch.imex_nodes",),
    headline="IMEX is enabled and not running",
    remedy=(
        Step("restart_service", "Start IMEX; its log is /var/log/nvidia-imex.log.", command="systemctl restart nvidia-imex"),
        Step("configure", "If this node is not to run IMEX, disable it.", command="systemctl disable --now nvidia-imex"),
    ),
    references=("NVIDIA IMEX Service Guide", "kubernetes-sigs/dra-driver-nvidia-gpu, Prerequisites, Driver-managed IMEX"),
    confirm=(
        "systemctl status nvidia-imex.service",
        "nvidia-imex-ctl -N  # the state of each node of the domain",
    ),
)
def imex_enabled(use: ImexUse, packages: Packages | Unread, driver: Driver | Unread, os: Os | Unread, profile: Profile) -> Findings:
    if profile.imex.required:
        skip("the profile asks for IMEX: nvswitch.imex_running judges it")
    skip_unless_all(
        (lambda: use.is_on_rack, "the GPUs are on no fabric of several hosts"),
        (use.starts_at_boot, "IMEX is not enabled with a list of nodes"),
        (lambda: not use.is_in_pods, "the DRA driver runs IMEX in pods"),
    )
    if not use.runs:
        text = "nvidia-imex is enabled and has a list of nodes, but there is no nvidia-imex process"
        yield fail(text, code="not-running", found="not running", wanted="running")
    yield from other_versions(need(packages), need(need(driver).loaded_version), os)
