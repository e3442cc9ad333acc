"""No CDI specification names the GPUs, though containers here get them through CDI: each GPU container fails to start.

A file is needed when the profile says ``runtime.access: cdi``, when the toolkit's mode is cdi, or when no runtime has an nvidia
handler. The handler in its usual mode makes a specification for each container by itself (jit-cdi) and needs no file.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.cdi import Cdi
from hostagent.facts.runtime import Runtime
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.unread import Unread
from hostagent.profile import Profile


@check(
    title="A CDI specification names the GPUs",
    severity="critical",
    since="0.1",
    remedy="Run 'systemctl restart nvidia-cdi-refresh.service', or 'nvidia-ctk cdi generate --output=/var/run/cdi/nvidia.yaml'.",
    references=("NVIDIA Container Toolkit, support for the Container Device Interface",),
)
def spec_present(cdi: Cdi, toolkit: Toolkit, runtimes: tuple[Runtime, ...], profile: Profile) -> Findings:
    if any(not spec.error and spec.kind.endswith("nvidia.com/gpu") for spec in need(cdi.specs)):
        return
    if profile.runtime.kind == "none":
        skip("the profile wants no container runtime")
    wanted_by = _wanted_by(toolkit, runtimes, profile.runtime.access)
    if not wanted_by:
        skip("the nvidia handler makes its own specification for each container")
    if not need(cdi.generated):
        yield fail(
            f"found no specification of nvidia.com/gpu, wanted one because {wanted_by}",
            code="missing",
            found="none",
            wanted="nvidia.com/gpu",
        )


def _wanted_by(toolkit: Toolkit, runtimes: tuple[Runtime, ...], access: str) -> str:
    if access == "cdi":
        return "the profile wants CDI"
    if access == "either" and not _handler(runtimes):
        return "no runtime has an nvidia handler"
    return "the toolkit's mode is cdi" if need(toolkit.mode) == "cdi" else ""


def _handler(runtimes: tuple[Runtime, ...]) -> bool:
    """One runtime with the handler is enough, whatever cannot be read of another."""
    read = [one.handlers for one in runtimes if not isinstance(one.handlers, Unread)]
    if any(handler.name.startswith("nvidia") for handlers in read for handler in handlers):
        return True
    for one in runtimes:
        need(one.handlers)
    return False
