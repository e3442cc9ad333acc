"""The CDI specification is newer than the runtime can read: no device in it can be resolved.

Toolkit 1.19.1 and newer write specifications of version 0.7.0 where the driver's device nodes need additional groups.
An older runtime refuses the whole file.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Runtime
from hostagent.facts.unread import Unread
from hostagent.facts.version import compare_deb
from hostagent.knowledge.runtimes import CDI_NEEDS


@check(
    title="The runtime is new enough for NVIDIA's CDI specification",
    severity="warning",
    since="0.1",
    remedy=(
        "Upgrade the runtime, or set NVIDIA_CTK_CDI_GENERATE_FEATURE_FLAGS=no-additional-gids-for-device-nodes in "
        "nvidia-cdi-refresh.env and restart nvidia-cdi-refresh."
    ),
    references=(
        "NVIDIA Container Toolkit, Release Notes 1.19.1",
        "Container Device Interface, specification: released versions",
    ),
)
def cdi_spec_version(runtime: Runtime, cdi: Cdi) -> Findings:
    if not need(runtime.cdi_enabled):
        need(Unread("not-supported", f"CDI is off in {runtime.key}"))
    specs = [spec for spec in need(cdi.specs) if not spec.error]
    if not specs:
        need(Unread("absent", "there is no CDI specification of NVIDIA's"))
    version = need(runtime.version)
    for need_of in CDI_NEEDS:
        too_old = need_of.kind == runtime.kind and compare_deb(version, need_of.runtime) < 0
        newer = [spec for spec in specs if compare_deb(spec.cdi_version, need_of.cdi_version) >= 0]
        if too_old and newer:
            found = f"{runtime.key} {version}, {newer[0].path} of version {newer[0].cdi_version}"
            yield fail("the specification is too new", code="too-new", found=found, wanted=f"{runtime.kind} >= {need_of.runtime}")
