"""The default runtime is not the one that the profile names: pods without a runtime class get no GPU.

Some clusters make nvidia the default so that pods need no runtime class. Docker Compose files without a runtime line rely on it too.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile

from ._choice import skip_unserving
from ._steps import restart


@check(
    title="The default runtime is the one that the profile names",
    severity="critical",
    since="0.1",
    because=("toolkit.installed", "runtime.config_accepted"),
    headline="The default runtime of {device} is {found}, the profile asks for {wanted}",
    remedy=(
        Step(
            "configure",
            "Set the default runtime, or change runtime.default_runtime in the profile.",
        ),
        Step("restart_service", "Restart the runtime."),
    ),
    references=("NVIDIA Container Toolkit, Installation Guide: configuring containerd",),
    confirm=(
        "containerd config dump | grep -n default_runtime_name",
        "docker info --format '{{.DefaultRuntime}}'",
        "crio status config | grep default_runtime",
    ),
)
def default_runtime(runtime: Runtime, choice: RuntimeChoice, profile: Profile) -> Findings:
    want = profile.runtime.default_runtime
    if not want:
        skip("the profile names no default runtime")
    skip_unserving(runtime, choice)
    if (found := need(runtime.default_runtime)) != want:
        usual = want == "nvidia" and runtime.key == runtime.kind
        command = f"nvidia-ctk runtime configure --runtime={runtime.kind} --set-as-default" if usual else ""
        steps = (Step("configure", f"Make {want} the default runtime of {runtime.key}, or change the profile.", command), restart(runtime))
        text = f"the default runtime of {runtime.key} is {found}, the profile asks for {want}"
        yield fail(text, code="other", found=found, wanted=want, remedy=steps)
