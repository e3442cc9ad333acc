"""The toolkit is set to its legacy mode: containers lose their GPUs when systemd reloads.

The legacy hook adds device nodes without telling the container runtime. With the systemd cgroup driver a `systemctl daemon-reload`
drops them, and NVML in the container answers "Unknown Error" from then on. The mode is deprecated. Where this host really
loses GPUs by it, `runtime.gpu_lost_on_reload` says so.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.toolkit import Toolkit


@check(
    title="The toolkit does not use its legacy mode",
    severity="info",
    since="0.1",
    headline="The toolkit uses its legacy mode",
    remedy=(
        Step(
            "configure", "Let the toolkit choose its mode.", command="nvidia-ctk config --in-place --set nvidia-container-runtime.mode=auto"
        ),
    ),
    references=(
        "NVIDIA Container Toolkit, Troubleshooting: containers losing access to GPUs",
        "NVIDIA Container Toolkit, Release Notes: deprecation of the legacy mode",
    ),
    confirm=("grep -n mode /etc/nvidia-container-runtime/config.toml",),
)
def legacy_mode(toolkit: Toolkit) -> Findings:
    if (mode := need(toolkit.mode)) == "legacy":
        yield fail("config.toml sets the deprecated legacy mode", code="legacy", found=mode, wanted="auto")
