"""IMEX has no list of the nodes of its domain: it knows no peer, and no memory crosses nodes."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.nvswitch import Fabric
from hostagent.profile import Profile

from ._imex import skip_unless_required


@check(
    title="IMEX has a list of the nodes of its domain",
    severity="critical",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    owns=("Fabric.imex_nodes",),
    headline="IMEX has no list of the nodes of its domain",
    remedy=(
        Step("configure", "Write the addresses of all nodes of the rack into /etc/nvidia-imex/nodes_config.cfg."),
        Step("restart_service", "Restart IMEX.", command="systemctl restart nvidia-imex"),
    ),
    references=("NVIDIA IMEX Service Guide, section Node Configuration File",),
    confirm=(
        "cat /etc/nvidia-imex/nodes_config.cfg",
        "nvidia-imex-ctl -N",
    ),
)
def imex_configured(fabric: Fabric, profile: Profile) -> Findings:
    skip_unless_required(profile)
    if not need(fabric.imex_nodes):
        yield fail("/etc/nvidia-imex/nodes_config.cfg names no node", code="empty", found="no node", wanted="the nodes of the domain")
