"""The default runtime is not the one that the profile names: pods without a runtime class get no GPU.

Some clusters make nvidia the default so that pods need no runtime class. Docker Compose files without a runtime line rely on it too.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import skip_unserving


@check(
    title="The default runtime is the profile's",
    severity="critical",
    since="0.1",
    because=("toolkit.installed", "runtime.config_accepted"),
    headline="The default runtime of {device} is {found}, the profile wants {wanted}",
    remedy=(
        Step(
            "configure",
            "Set the default runtime, or change runtime.default_runtime in the profile.",
            command="nvidia-ctk runtime configure --runtime=<runtime> --set-as-default",
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
def default_runtime(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    want = profile.runtime.default_runtime
    if not want:
        skip("the profile names no default runtime")
    skip_unserving(runtime, runtimes, launchers, profile)
    if (found := need(runtime.default_runtime)) != want:
        yield fail("another default runtime", code="other", found=found, wanted=want)
