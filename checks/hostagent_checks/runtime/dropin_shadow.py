"""A drop-in hides what was changed in the main file later: the edit has no effect.

'nvidia-ctk runtime configure' copies containerd's whole CRI section into /etc/containerd/conf.d/99-nvidia.toml. Whoever edits
config.toml afterwards (pause image, registry, SELinux, cgroup driver) sees no change, because the drop-in is merged last. In
containerd 1.x the drop-in replaces the whole section, so keys it does not have are lost too.
"""

from hostagent.check import Findings, Step, check, fail, first_of, need
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving


@check(
    title="No older drop-in hides settings of the main file",
    severity="warning",
    since="0.1",
    headline="An older drop-in hides settings of the main file of {device}",
    remedy=(
        Step(
            "configure",
            "Configure the nvidia runtime again: that copies the section.",
            command="nvidia-ctk runtime configure --runtime=containerd",
        ),
        Step("restart_service", "Restart containerd.", command="systemctl restart containerd"),
    ),
    references=("NVIDIA Container Toolkit, Release Notes 1.18.0: drop-in files",),
    confirm=(
        "ls -lt /etc/containerd/config.toml /etc/containerd/conf.d",
        "containerd config dump",
    ),
)
def dropin_shadow(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    hidden = need(runtime.shadowed)
    if hidden:
        yield fail(
            f"settings of the main file have no effect: {first_of(hidden)}",
            code="shadowed",
            found=first_of(hidden),
            wanted="none",
            evidence=hidden,
        )
