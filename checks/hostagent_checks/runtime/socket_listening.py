"""The runtime runs, and nobody listens on its socket: the kubelet, nerdctl and the docker client cannot reach it.

The address was changed in the configuration, or the daemon hangs before it serves. Kubernetes needs the same address in the kubelet's
containerRuntimeEndpoint.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import skip_unserving


@check(
    title="The runtime listens on its socket",
    severity="warning",
    since="0.1",
    because=("runtime.service_running", "runtime.config_accepted"),
    headline="{device} does not listen on its socket",
    remedy=(
        Step("configure", "Compare the grpc address in the runtime's configuration with its clients' endpoint, and read its journal."),
    ),
    references=("Kubernetes, Container Runtimes",),
    confirm=(
        "ss -lx | grep -E 'containerd|docker|crio'",
        "crictl info",
    ),
)
def socket_listening(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    if not need(runtime.running):
        skip(f"{runtime.key} does not run")
    if not need(runtime.socket_listening):
        yield fail("nobody listens on the socket", code="not-listening", found=need(runtime.socket), wanted="a listening socket")
