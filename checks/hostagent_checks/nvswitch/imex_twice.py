"""IMEX runs on the host, and the DRA driver starts another in pods: a GPU driver has one IMEX session, so pods of a ComputeDomain hang.

The compute-domain plug-in of NVIDIA's DRA driver starts an IMEX for each ComputeDomain, unless it is set up to use the host's. The second
one cannot have the session (NV_ERR_IN_USE), its daemon never becomes ready, and jobs over several nodes wait. Jobs on one node run.
Silent: a unit that is masked or disabled and does not run; an IMEX whose command socket is set up as the plug-in needs it to use the
host's, unless the plug-in made an IMEX of its own for a ComputeDomain; nodes without a fabric of several hosts.
"""

from hostagent.check import Findings, Step, check, counted, fail, need
from hostagent.core.tables.nvlink_fabric import COMPUTE_DOMAINS
from hostagent.facts.imex import Imex

from ._imex import ImexUse, skip_unless_all


@check(
    title="IMEX is run by the host or by the DRA driver, not by both",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("imex",),
    headline="IMEX runs on the host and by the DRA driver",
    remedy=(
        Step("configure", "Decide whether the DRA driver or the host runs IMEX, and do only the steps of that way."),
        Step(
            "configure",
            "If the DRA driver does: stop the host's IMEX, and keep packages from starting it.",
            command="systemctl disable --now nvidia-imex && systemctl mask nvidia-imex",
        ),
        Step(
            "configure",
            "If the host does: set IMEX_CMD_ENABLED=1 and IMEX_CMD_UNIX_DOMAIN_PATH in /etc/nvidia-imex/config.cfg and restart IMEX; in "
            "the DRA driver's Helm values set featureGates.HostManagedIMEXDaemon=true and resources.computeDomains.imex.mode=hostManaged.",
        ),
    ),
    references=(
        "kubernetes-sigs/dra-driver-nvidia-gpu issue 524",
        "kubernetes-sigs/dra-driver-nvidia-gpu, Prerequisites, Driver-managed IMEX and Host-managed IMEX",
    ),
    confirm=(
        "systemctl status nvidia-imex.service",
        "ls -l /var/lib/kubelet/plugins/compute-domain.nvidia.com",
    ),
)
def imex_twice(imex: Imex, use: ImexUse) -> Findings:
    skip_unless_all(
        (lambda: use.is_on_rack, "the GPUs are on no fabric of several hosts"),
        (use.runs_or_starts, "the host does not run IMEX, and does not start it at boot"),
        (lambda: use.is_in_pods, f"no plug-in {COMPUTE_DOMAINS} of the DRA driver runs on this host"),
    )
    if not use.runs:
        text = "the next boot starts nvidia-imex on the host, and the DRA driver starts IMEX in pods"
        headline = "The next boot starts IMEX on the host, and the DRA driver starts it, too"
        yield fail(text, code="at-boot", found="enabled", wanted="one of both", headline=headline, at_most="info")
    elif not need(imex.command_socket):
        text = "nvidia-imex runs on the host, and the DRA driver's compute-domain plug-in starts IMEX in pods"
        yield fail(text, code="twice", found="both", wanted="one of both")
    elif domains := need(imex.domains):
        text = f"nvidia-imex runs on the host, and the DRA driver started IMEX in pods for {counted(len(domains), 'ComputeDomain')}"
        yield fail(text, code="twice-in-domains", found="both", wanted="one of both")
