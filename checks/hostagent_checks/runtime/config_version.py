"""containerd's configuration has no version line: 'nvidia-ctk runtime configure' reports success and configures nothing.

A file without the line is version 1. The toolkit writes a version 1 drop-in and leaves the file as it is, so nothing imports the drop-in.
containerd ignores every table of the file that has the plugin's full name, and containerd 2 ignores the short names as well.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.versions import has_full_names
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving
from ._steps import CONFIGURE_CONTAINERD, RESTART_CONTAINERD


@check(
    title="containerd's configuration has version 2 or 3",
    severity="warning",
    since="0.1",
    because=("runtime.config_accepted",),
    headline="containerd's configuration has an old version",
    remedy=(
        Step(
            "configure",
            "Write a new file, and move your settings into it.",
            command="containerd config default > /etc/containerd/config.toml.new",
        ),
        CONFIGURE_CONTAINERD,
        RESTART_CONTAINERD,
    ),
    references=("NVIDIA Container Toolkit issue 1430",),
    confirm=("grep -n '^version' /etc/containerd/config.toml",),
)
def config_version(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    if runtime.key != "containerd":
        skip(f"{runtime.key} writes its configuration itself, or it has no version")
    if need(runtime.state) == "cri_disabled" or not need(runtime.config_files):
        skip("CRI is off, or the built-in configuration is in use")
    if not has_full_names(version := need(runtime.config_version)):
        yield fail(f"{need(runtime.config_files)[0]} is version {version}", code="version-1", found=version, wanted="2 or 3")
