"""The runtime runs, and nobody listens on its socket: the kubelet, nerdctl and the docker client cannot reach it.

The address was changed in the configuration, or the daemon hangs before it serves. Kubernetes needs the same address in the kubelet's
containerRuntimeEndpoint.
"""

from hostagent.check import Findings, Step, check, fail, need, shell, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving
from ._steps import restart, unit_of


@check(
    title="The runtime listens on its socket",
    severity="warning",
    since="0.1",
    because=("runtime.service_running", "runtime.config_accepted"),
    headline="{device} runs, but does not listen on its socket",
    remedy=(Step("configure", "Compare the runtime's address in its configuration with the kubelet's endpoint."),),
    references=("Kubernetes, Container Runtimes",),
    confirm=(
        "ss -lx | grep -E 'containerd|docker|crio'",
        "crictl info",
    ),
)
def socket_listening(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    if not need(runtime.running):
        skip(f"{runtime.key} is not running")
    if not need(runtime.socket_listening):
        unit, socket = unit_of(runtime), need(runtime.socket)
        steps = (
            Step("configure", f"Compare {socket} with the endpoint of the kubelet and of other clients."),
            Step("restart_service", f"Read what {runtime.key} logged.", shell("journalctl -b -u {}", unit)),
            restart(runtime),
        )
        yield fail(f"nobody listens on {socket}", code="not-listening", found=socket, wanted="a listening socket", remedy=steps)
