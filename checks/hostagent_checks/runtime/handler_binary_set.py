"""A runtime entry called nvidia that starts plain runc: containers start, without any GPU.

The entry has no BinaryName (containerd) or runtime_path (CRI-O), so the runtime takes its default program. Nothing fails until the
job looks for a GPU.
"""

from hostagent.check import Findings, Step, check, fail
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import nvidia_handlers, skip_unserving
from ._steps import configure, restart


@check(
    title="Each runtime entry called nvidia starts NVIDIA's program",
    severity="critical",
    since="0.1",
    because=("toolkit.installed", "toolkit.binary"),
    headline="The nvidia entry of {device} does not start NVIDIA's program",
    remedy=(
        Step(
            "configure",
            "Configure the nvidia runtime again.",
            command="nvidia-ctk runtime configure --runtime=<containerd, docker or crio>",
        ),
        Step("restart_service", "Restart the runtime."),
    ),
    references=("NVIDIA Container Toolkit, Installation Guide: configuring containerd",),
    confirm=(
        "containerd config dump | grep -n BinaryName",
        "docker info --format '{{json .Runtimes}}'",
    ),
)
def handler_binary_set(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    for handler in nvidia_handlers(runtime):
        if "nvidia" not in handler.binary:
            found = handler.binary or "the default program"
            steps = (configure(runtime), restart(runtime))
            text = f"the entry {handler.name} starts {found}"
            yield fail(text, code="other-program", found=found, wanted="nvidia-container-runtime", remedy=steps)
