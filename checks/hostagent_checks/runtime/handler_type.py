"""A runtime entry without a runtime_type: every pod that uses it fails with "container.Runtime.Name must be set".

Toolkit 1.19 and older copy the type from the runc entry, and leave it empty where that has none. containerd 1.x empties the type of
runc itself when a file sets only its options, because it replaces the built-in entry.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving
from ._steps import CONFIGURE_CONTAINERD, RESTART_CONTAINERD


@check(
    title="Every runtime entry has a runtime_type",
    severity="critical",
    since="0.1",
    headline="A runtime entry of {device} has no runtime_type",
    remedy=(
        Step("configure", 'Add runtime_type = "io.containerd.runc.v2" to the runc entry.'),
        CONFIGURE_CONTAINERD,
        RESTART_CONTAINERD,
    ),
    references=("NVIDIA Container Toolkit issue 1956",),
    confirm=("containerd config dump | grep -n runtime_type",),
)
def handler_type(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    for handler in need(runtime.handlers):
        if not handler.runtime_type:
            yield fail(
                f"a runtime entry has no runtime_type ({handler.name}: empty)",
                code="empty",
                found=f"{handler.name}: empty",
                wanted="io.containerd.runc.v2",
            )
