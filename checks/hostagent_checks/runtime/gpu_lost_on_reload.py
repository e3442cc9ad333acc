"""Running containers will lose their GPUs: "Failed to initialize NVML: Unknown Error" after a systemctl daemon-reload.

In its legacy mode the toolkit adds the device nodes behind the runtime's back. With the systemd cgroup driver, systemd owns the device
rules and writes them again at each daemon-reload, without the GPUs. Package upgrades do that reload on their own. CDI, which the mode auto
uses, tells the runtime about the devices and is not affected.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime
from hostagent.facts.toolkit import Toolkit

from ._choice import nvidia_handlers, skip_unserving


@check(
    title="A systemd reload does not take GPUs from containers",
    severity="warning",
    since="0.1",
    headline="A systemd reload takes GPUs from running containers",
    remedy=(
        Step(
            "configure",
            "Let the toolkit choose its mode; containers that start from then on keep their GPUs.",
            command="nvidia-ctk config --in-place --set nvidia-container-runtime.mode=auto",
        ),
    ),
    references=("NVIDIA Container Toolkit, Troubleshooting: containers losing access to GPUs",),
    confirm=(
        "grep -n mode /etc/nvidia-container-runtime/config.toml",
        "ls -l /dev/char | grep nvidia",
    ),
)
def gpu_lost_on_reload(runtime: Runtime, choice: RuntimeChoice, toolkit: Toolkit) -> Findings:
    skip_unserving(runtime, choice)
    nvidia_handlers(runtime)
    mode, driver = need(toolkit.mode), need(runtime.cgroup_driver)
    if mode == "legacy" and driver == "systemd":
        yield fail(
            "the toolkit's mode is legacy with systemd's cgroups: containers lose GPUs at a reload",
            code="legacy-systemd",
            found="legacy with systemd",
            wanted="auto, or cdi",
        )
