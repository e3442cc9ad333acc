"""A runtime entry called nvidia that starts plain runc: containers start, without any GPU.

The entry has no BinaryName (containerd) or runtime_path (CRI-O), so the runtime takes its default program. Nothing fails until the
job looks for a GPU.
"""

from hostagent.check import Findings, Step, check, fail
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import nvidia_handlers, skip_unserving


@check(
    title="Each runtime entry called nvidia starts the toolkit's program",
    severity="critical",
    since="0.1",
    because=("toolkit.installed", "toolkit.binary"),
    headline="The nvidia entry of {device} does not start the toolkit's program",
    remedy=(
        Step(
            "configure",
            "Set options.BinaryName = \"/usr/bin/nvidia-container-runtime\" in the entry, or run 'nvidia-ctk runtime configure'.",
        ),
        Step("restart_service", "Restart the runtime."),
    ),
    references=("NVIDIA Container Toolkit, Installation Guide: configuring containerd",),
    confirm=(
        "containerd config dump | grep -n BinaryName",
        "docker info --format '{{json .Runtimes}}'",
    ),
)
def handler_binary_set(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    for handler in nvidia_handlers(runtime):
        if "nvidia" not in handler.binary:
            found = handler.binary or "the default program"
            yield fail(f"{handler.name} does not start the toolkit", code="other-program", found=found, wanted="nvidia-container-runtime")
