"""CDI is off in the runtime: requests for nvidia.com/gpu devices are not resolved, and containers get no GPU.

containerd 1.7 has CDI switched off unless enable_cdi = true stands in the effective CRI table, and a drop-in that replaces that table
takes it away again; 1.6 has no CDI at all; 2.x has it on. Docker needs "features": {"cdi": true} in daemon.json before the versions
that switch it on themselves; 'nvidia-ctk runtime configure --cdi.enabled' drops the other features of that object.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile

from ._choice import accepted_ones
from ._steps import configure, restart


@check(
    title="The runtime resolves CDI devices",
    severity="critical",
    since="0.1",
    headline="The container runtime does not resolve CDI devices",
    remedy=(
        Step("configure", "Turn CDI on in the runtime's configuration."),
        Step("restart_service", "Restart the runtime."),
    ),
    references=(
        "NVIDIA Container Toolkit, Support for Container Device Interface",
        "containerd, CRI Plugin Config Guide",
    ),
    confirm=(
        "containerd config dump | grep -n enable_cdi",
        "docker info  # 'CDI spec directories'",
    ),
)
def cdi_enabled(choice: RuntimeChoice, profile: Profile) -> Findings:
    if profile.runtime.access != "cdi" or profile.runtime.kind == "none":
        skip("the profile does not ask for CDI")
    for one in accepted_ones(choice):
        if not need(one.cdi_enabled):
            steps = (*_steps(one), restart(one))
            yield fail(f"CDI is off in {one.key}", code="disabled", found="off", wanted="on", remedy=steps)


def _steps(runtime: Runtime) -> tuple[Step, ...]:
    """Of daemon.json nvidia-ctk would drop the other features; containerd 1.6 has no CDI."""
    if runtime.kind == "docker":
        return (Step("configure", 'Add "cdi": true to the "features" of /etc/docker/daemon.json by hand.'),)
    upgrade = isinstance(runtime.version, str) and runtime.version.startswith("1.6.")
    first = (Step("configure", "Upgrade containerd first: version 1.6 has no CDI."),) if upgrade else ()
    return (*first, configure(runtime, " --cdi.enabled"))
