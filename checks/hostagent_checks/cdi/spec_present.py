"""No CDI specification names the GPUs, although containers here get them through CDI: each GPU container fails to start.

A file is needed when the profile says ``runtime.access: cdi``, or when the toolkit's mode is cdi. The handler in its usual mode makes a
specification for each container by itself (jit-cdi) and needs no file; the DRA driver writes one for each claim, so that an idle node has
none. Where the runtime has no way at all to give GPUs, `runtime.nvidia_handler` says so, where podman alone is there `runtime.present`.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.runtime.access import GpuAccess
from hostagent.domains.runtime.serving import RuntimeChoice, is_in_force
from hostagent.facts.cdi import Cdi
from hostagent.profile import Profile


@check(
    title="A CDI specification names the GPUs",
    severity="critical",
    since="0.1",
    because=(
        "toolkit.installed",
        "cdi.refresh_order",
        "driver.library_match",
        "driver.loaded",
        "driver.library_present",
        "cdi.refresh_enabled",
    ),
    headline="No CDI specification names the GPUs",
    remedy=(
        Step("restart_service", "Make the CDI specification.", command="systemctl restart nvidia-cdi-refresh.service"),
        Step(
            "restart_service",
            "Make it without the unit.",
            command="nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml",
            if_back=True,
        ),
    ),
    references=("NVIDIA Container Toolkit, support for the Container Device Interface",),
    confirm=(
        "nvidia-ctk cdi list",
        "ls -l /etc/cdi /var/run/cdi",
    ),
)
def spec_present(cdi: Cdi, choice: RuntimeChoice, access: GpuAccess, profile: Profile) -> Findings:
    if any(not spec.error and spec.kind.endswith("nvidia.com/gpu") for spec in need(cdi.specs)):
        return
    if profile.runtime.kind == "none":
        skip("the profile asks for no container runtime")
    wanted_by = _wanted_by(choice, access)
    if not wanted_by:
        skip("GPUs reach containers here without a ready-made specification")
    if not need(cdi.generated):
        yield fail(
            f"there is no CDI specification of nvidia.com/gpu, but {wanted_by}",
            code="missing",
            found="none",
            wanted="nvidia.com/gpu",
        )


def _wanted_by(choice: RuntimeChoice, access: GpuAccess) -> str:
    found = [access.ways(one) for one in choice.serving.runtimes if is_in_force(one)]
    if any("dra" in one for one in found):
        return ""
    if choice.profile.runtime.access == "cdi":
        return "the profile asks for CDI"
    return "the toolkit's mode is cdi" if any("handler" in one for one in found) and need(access.toolkit.mode) == "cdi" else ""
