"""A CDI specification has a version that an installed runtime cannot read: it refuses the whole file.

Newer toolkits write a newer version, because they add the groups of device nodes.
Older runtimes only say "unresolvable CDI devices". A runtime whose CDI is off reads none of them. Where no daemon serves jobs,
podman is checked.
"""

from hostagent.check import Finding, Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.cdi_versions import RENEW, first_runtime, may_be_older
from hostagent.facts.cdi import Cdi, CdiSpec
from hostagent.facts.packages import Packages
from hostagent.facts.version import upstream
from hostagent.profile import Profile

from ._specs import taken_specs

#: Then nvidia-ctk writes a version that older runtimes read.
_OLDER = Step(
    "configure",
    "Upgrade the runtime, or let the toolkit write an older version.",
    "echo NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS=no-additional-gids-for-device-nodes >> "
    "/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env",
)


@check(
    title="The container runtimes can read the CDI specifications' version",
    severity="critical",
    since="0.1",
    headline="The container runtime cannot read the CDI specification's version",
    remedy=(
        _OLDER,
        RENEW,
    ),
    references=(
        "CDI specification, released versions",
        "NVIDIA Container Toolkit, support for the Container Device Interface",
        "NVIDIA Container Toolkit issues 1860 and 1940",
    ),
    confirm=(
        "grep -H cdiVersion /etc/cdi/* /var/run/cdi/*",
        "containerd --version; dockerd --version; crio --version",
    ),
)
def spec_version(cdi: Cdi, choice: RuntimeChoice, packages: Packages, profile: Profile) -> Findings:
    specs = taken_specs(cdi, profile)
    chosen = choice.serving.runtimes
    if not chosen and "podman" not in need(choice.launchers.programs):
        skip("no container runtime serves jobs here")
    if not chosen:
        yield from _of_podman(specs, packages)
    for runtime in chosen:
        said = runtime.version
        version = "" if isinstance(said, Unread) and said.why == "error" else need(upstream(need(said)))
        for spec in specs:
            wanted = first_runtime(spec.cdi_version, runtime.kind)
            if may_be_older(version, wanted) and need(runtime.cdi_enabled):
                yield _too_new(spec, runtime.key, version, wanted)


def _of_podman(specs: tuple[CdiSpec, ...], packages: Packages) -> Findings:
    version = next((need(one.upstream) for one in need(packages.installed) if one.name == "podman"), "")
    for spec in specs:
        wanted = first_runtime(spec.cdi_version, "podman")
        if may_be_older(version, wanted):
            yield _too_new(spec, "podman", version, wanted)


def _too_new(spec: CdiSpec, runtime: str, version: str, wanted: str) -> Finding:
    if not version:
        found = f"{runtime} with an unknown version"
        return warn(f"an older {runtime} cannot read {spec.path}", code="unknown-version", found=found, wanted=f">= {wanted}")
    return fail(
        f"{runtime} {version} cannot read {spec.path}: CDI {spec.cdi_version} needs {runtime} {wanted}",
        code="too-new",
        found=f"{runtime} {version}",
        wanted=f">= {wanted}",
        evidence=(spec.path,),
    )
