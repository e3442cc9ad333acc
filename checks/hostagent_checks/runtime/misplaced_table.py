"""An NVIDIA entry stands under a plugin name that this containerd does not read.

Version 2 files have the entry below io.containerd.grpc.v1.cri, version 3 files below io.containerd.cri.v1.runtime, version 1 files below
cri. containerd accepts the wrong name without an error and ignores the table: after an upgrade to containerd 2, or when a drop-in
of the other version was left behind.
"""

from hostagent.check import Findings, Step, check, fail, first_of, need
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving


@check(
    title="NVIDIA entries are where this containerd reads them",
    severity="warning",
    since="0.1",
    headline="NVIDIA entries are where this containerd does not read them",
    remedy=(
        Step("configure", "Move the named tables to the plugin name of the file's version.", command="containerd config migrate"),
        Step("restart_service", "Restart containerd.", command="systemctl restart containerd"),
    ),
    references=("containerd 2.0, Release Notes: configuration version 3",),
    confirm=(
        "grep -n -E '^version|plugins' /etc/containerd/config.toml /etc/containerd/conf.d/*.toml",
        "containerd --version",
    ),
)
def misplaced_table(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    tables = need(runtime.misplaced)
    if tables:
        yield fail(f"containerd does not read {first_of(tables)}", code="misplaced", found=first_of(tables), wanted="none")
