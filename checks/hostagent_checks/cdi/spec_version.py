"""A CDI specification is written in a version that an installed runtime cannot read: it refuses the file as a whole.

Newer toolkits write a newer version, because they add the groups of device nodes.
Older runtimes say "unresolvable CDI devices" and no more. A runtime whose CDI is off reads none of them.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Runtime
from hostagent.facts.version import satisfies, upstream
from hostagent.knowledge.cdi import first_runtime
from hostagent.profile import Profile

from ._specs import valid_specs


@check(
    title="The container runtimes can read the CDI specifications' version",
    severity="critical",
    since="0.1",
    remedy="Upgrade the runtime, or set NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS=no-additional-gids-for-device-nodes in "
    "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env and restart nvidia-cdi-refresh.",
    references=("CDI specification, released versions", "NVIDIA Container Toolkit, support for the Container Device Interface"),
)
def spec_version(cdi: Cdi, runtimes: tuple[Runtime, ...], profile: Profile) -> Findings:
    specs = valid_specs(cdi, profile)
    present = [one for one in runtimes if need(one.state) != "absent"]
    if not present:
        skip("no container runtime is installed")
    for runtime in present:
        version = need(upstream(need(runtime.version)))
        for spec in specs:
            wanted = first_runtime(spec.cdi_version, runtime.kind)
            if wanted and not satisfies(version, f">={wanted}") and need(runtime.cdi_enabled):
                yield fail(
                    f"{spec.path} is CDI {spec.cdi_version}, {runtime.key} {version} cannot read it, wanted {wanted} or newer",
                    code="too-new",
                    found=f"{runtime.key} {version}",
                    wanted=f">= {wanted}",
                    evidence=(spec.path,),
                )
