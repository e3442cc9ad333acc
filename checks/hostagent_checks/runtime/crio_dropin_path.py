"""The toolkit's drop-in lies where CRI-O does not look.

Toolkit 1.19.0 writes /etc/crio/conf.d/99-nvidia.toml; CRI-O reads /etc/crio/crio.conf.d. The command reports success, and the nvidia
runtime does not exist. Toolkit 1.19.1 has the right path. A CRI-O with a directory of its own (`--config-dir`) reads only that one.
Where nothing else gives containers GPUs, this is why none has any.
"""

from hostagent.check import Findings, Step, check, fail, first_of, need, shell, skip
from hostagent.domains.runtime.access import GpuAccess
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving
from ._steps import crio_drop_in


@check(
    title="NVIDIA's drop-in for CRI-O is in crio.conf.d",
    severity="warning",
    since="0.1",
    headline="{device} does not read NVIDIA's drop-in: it is in the wrong directory",
    remedy=(
        Step(
            "configure",
            "Write it where CRI-O reads it; then remove the file in /etc/crio/conf.d.",
            command="nvidia-ctk runtime configure --runtime=crio --drop-in-config=/etc/crio/crio.conf.d/99-nvidia.toml",
        ),
        Step("restart_service", "Restart CRI-O.", command="systemctl restart crio"),
    ),
    references=(
        "NVIDIA Container Toolkit, Release Notes 1.19.1",
        "CRI-O, crio.conf.d(5)",
    ),
    confirm=("ls -l /etc/crio/conf.d /etc/crio/crio.conf.d",),
)
def crio_dropin_path(runtime: Runtime, access: GpuAccess, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    if runtime.kind != "crio":
        skip(f"{runtime.key} is not CRI-O")
    files = need(runtime.unimported)
    if files:
        right = crio_drop_in(runtime)
        yield fail(
            f"CRI-O does not read {first_of(files)}",
            code="wrong-directory",
            found=files,
            wanted=right.rpartition("/")[0],
            remedy=(
                Step("configure", f"Write it where CRI-O reads it; then remove {first_of(files)}.", _command(right)),
                Step("restart_service", "Restart CRI-O.", command="systemctl restart crio"),
            ),
            at_least=None if access.ways(runtime) else "critical",
        )


def _command(path: str) -> str:
    return shell("nvidia-ctk runtime configure --runtime=crio --drop-in-config={}", path)
