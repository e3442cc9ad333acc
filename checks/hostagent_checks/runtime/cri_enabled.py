"""CRI is switched off in containerd: the kubelet cannot use it.

The file that comes with Docker's package containerd.io says disabled_plugins = ["cri"]. On a Docker host that is right. On a host that
Kubernetes is to use, the kubelet gets "unknown service runtime.v1.RuntimeService", and 'nvidia-ctk runtime configure' reports success
without any effect.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile

from ._choice import accepted_ones


@check(
    title="containerd serves CRI",
    severity="critical",
    since="0.1",
    remedy="Take cri out of disabled_plugins in /etc/containerd/config.toml and see that it says 'version = 2', keeping all else; "
    "then configure the nvidia runtime again and restart containerd.",
    references=(
        "NVIDIA Container Toolkit issue 1430",
        "Kubernetes, Container Runtimes",
    ),
)
def cri_enabled(runtime: Runtime, runtimes: tuple[Runtime, ...], profile: Profile) -> Findings:
    if runtime.kind != "containerd" or profile.runtime.kind not in ("any", "containerd"):
        skip(f"CRI of {runtime.key} is not wanted here")
    if need(runtime.state) != "cri_disabled":
        return
    others = [one.key for one in accepted_ones(runtimes, profile)]
    if others:
        skip(f"containers run by {', '.join(others)}, which needs no CRI of {runtime.key}")
    yield fail("CRI is disabled", code="disabled", found="disabled_plugins names cri", wanted="the CRI plugin enabled")
