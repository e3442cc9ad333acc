"""Nothing imports a drop-in with an NVIDIA entry: it was written and is never read.

containerd reads drop-ins only through the imports line of its main file. The toolkit writes that line unless the main file has no
version line; tools that rewrite config.toml remove it.
"""

from hostagent.check import Findings, Step, check, fail, first_of, need, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving


@check(
    title="Every drop-in with an NVIDIA entry is imported",
    severity="warning",
    since="0.1",
    because=("runtime.cri_enabled",),
    headline="{device} does not import a drop-in with an NVIDIA entry",
    remedy=(
        Step("configure", 'Add imports = ["/etc/containerd/conf.d/*.toml"] to /etc/containerd/config.toml.'),
        Step("restart_service", "Restart containerd.", command="systemctl restart containerd"),
    ),
    references=("NVIDIA Container Toolkit issue 1430",),
    confirm=(
        "grep -n imports /etc/containerd/config.toml",
        "ls -l /etc/containerd/conf.d",
    ),
)
def unimported_dropin(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    if runtime.kind != "containerd":
        skip(f"{runtime.key} has no imports")
    files = need(runtime.unimported)
    if files:
        yield fail(f"nothing imports {first_of(files)}", code="not-imported", found=first_of(files), wanted="none")
