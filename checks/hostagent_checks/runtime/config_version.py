"""containerd's configuration has no version line: 'nvidia-ctk runtime configure' reports success and configures nothing.

A file without the line is version 1. The toolkit writes a version 1 drop-in and leaves the file as it is, so nothing imports the drop-in.
containerd ignores every table of the file that has the plugin's full name, and containerd 2 ignores the short names as well.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import skip_unserving


@check(
    title="containerd's configuration says version 2 or 3",
    severity="warning",
    since="0.1",
    because=("runtime.config_accepted",),
    headline="containerd's configuration has an old version",
    remedy=(
        Step(
            "configure",
            "Run 'containerd config default' into a new file, carry your settings over, and configure the nvidia runtime again.",
        ),
        Step("restart_service", "Restart containerd.", command="systemctl restart containerd"),
    ),
    references=("NVIDIA Container Toolkit issue 1430",),
    confirm=("grep -n '^version' /etc/containerd/config.toml",),
)
def config_version(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    if runtime.key != "containerd":
        skip(f"{runtime.key} writes its configuration itself, or has no version in it")
    if need(runtime.state) == "cri_disabled" or not need(runtime.config_files):
        skip("CRI is off, or the built-in configuration is in force")
    if (version := need(runtime.config_version)) < 2:
        yield fail("the configuration is version 1", code="version-1", found=version, wanted="2 or 3")
