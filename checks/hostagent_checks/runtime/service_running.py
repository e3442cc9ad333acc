"""The container runtime does not run: no container can be started.

After a failed start (a configuration that is refused, an ordering cycle at boot, a package upgrade that stopped it) the service is down
until somebody starts it.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile

from ._choice import present_ones


@check(
    title="A container runtime runs",
    severity="critical",
    since="0.1",
    remedy="See 'systemctl status containerd' (docker, crio, k3s, rke2-agent) and its journal, then start it.",
    references=("Kubernetes, Container Runtimes",),
)
def service_running(runtimes: tuple[Runtime, ...], profile: Profile) -> Findings:
    installed = present_ones(runtimes, profile)
    if not installed:
        skip("the runtime that the profile wants is not installed")
    if not any(need(one.running) for one in installed):
        yield fail("no container runtime runs", code="stopped", found=tuple(f"{one.key}: stopped" for one in installed), wanted="running")
