"""CRI is switched off in the containerd that is to serve jobs: the kubelet cannot use it.

The file that comes with Docker's package containerd.io says disabled_plugins = ["cri"]. On a Docker host, and where nerdctl or ctr start
containers and no kubelet is installed, that is right. On a host that
the kubelet asks, it gets "unknown service runtime.v1.RuntimeService", and 'nvidia-ctk runtime configure' reports success
without any effect.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.host import Services
from hostagent.facts.platform import Platform
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving, skip_without_cri_client
from ._steps import CONFIGURE_CONTAINERD, RESTART_CONTAINERD

_TAKE_OUT = Step("configure", "Take cri out of disabled_plugins in /etc/containerd/config.toml.")
#: nvidia-ctk copies it, and needs the version line to write anything that is read.
_CGROUPS = Step("configure", "In the same file, set version = 2, and SystemdCgroup = true for runc if the kubelet uses systemd.")


@check(
    title="containerd serves CRI",
    severity="critical",
    since="0.1",
    because=("runtime.config_accepted",),
    headline="CRI is off in {device}, so the kubelet cannot use it",
    remedy=(
        _TAKE_OUT,
        _CGROUPS,
        CONFIGURE_CONTAINERD,
        RESTART_CONTAINERD,
    ),
    references=(
        "NVIDIA Container Toolkit issue 1430",
        "Kubernetes, Container Runtimes",
    ),
    confirm=(
        "grep -n disabled_plugins /etc/containerd/config.toml",
        "ctr plugins list | grep cri",
    ),
)
def cri_enabled(runtime: Runtime, choice: RuntimeChoice, services: Services | Unread, platform: Platform | Unread) -> Findings:
    if runtime.kind != "containerd":
        skip(f"{runtime.key} has no CRI to switch off")
    skip_unserving(runtime, choice)
    if need(runtime.state) == "cri_disabled":
        skip_without_cri_client(runtime, choice, services, platform)
        yield fail(
            "in containerd's configuration, disabled_plugins names cri",
            code="disabled",
            found="disabled_plugins names cri",
            wanted="the CRI plugin enabled",
        )
