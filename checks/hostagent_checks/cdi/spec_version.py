"""A CDI specification is written in a version that an installed runtime cannot read: it refuses the file as a whole.

Newer toolkits write a newer version, because they add the groups of device nodes.
Older runtimes say "unresolvable CDI devices" and no more. A runtime whose CDI is off reads none of them.
"""

from hostagent.check import Findings, Step, check, fail, need, skip, warn
from hostagent.derived.serving import serving
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.facts.unread import Unread
from hostagent.facts.version import satisfies, upstream
from hostagent.knowledge.cdi import first_runtime
from hostagent.profile import Profile

from ._specs import taken_specs


@check(
    title="The container runtimes can read the CDI specifications' version",
    severity="critical",
    since="0.1",
    headline="The container runtime cannot read the CDI specification's version",
    remedy=(
        Step(
            "install",
            "Upgrade the runtime, or set NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS=no-additional-gids-for-device-nodes in /etc/nvidia-container-toolkit/nvidia-cdi-refresh.env.",
        ),
        Step("restart_service", "Renew the CDI specification.", command="systemctl restart nvidia-cdi-refresh.service"),
    ),
    references=("CDI specification, released versions", "NVIDIA Container Toolkit, support for the Container Device Interface"),
)
def spec_version(cdi: Cdi, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    specs = taken_specs(cdi, profile)
    chosen = serving(profile.runtime.kind, runtimes, launchers).runtimes
    if not chosen:
        skip("no container runtime serves jobs here")
    for runtime in chosen:
        said = runtime.version
        version = "" if isinstance(said, Unread) and said.why == "error" else need(upstream(need(said)))
        for spec in specs:
            wanted = first_runtime(spec.cdi_version, runtime.kind)
            if wanted and not version and need(runtime.cdi_enabled):
                found = f"{runtime.key} of an unknown version"
                yield warn(f"an older {runtime.key} cannot read {spec.path}", code="unknown-version", found=found, wanted=f">= {wanted}")
            elif wanted and not satisfies(version, f">={wanted}") and need(runtime.cdi_enabled):
                yield fail(
                    f"{spec.path} is CDI {spec.cdi_version}, {runtime.key} {version} cannot read it, wanted {wanted} or newer",
                    code="too-new",
                    found=f"{runtime.key} {version}",
                    wanted=f">= {wanted}",
                    evidence=(spec.path,),
                )
