"""No container runtime: nothing on this host can start a container, with or without a GPU.

The profile says which runtime must be there. A configuration that was left behind by a removed runtime does not count.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile

from ._choice import present_ones


@check(
    title="A container runtime is installed",
    severity="critical",
    since="0.1",
    remedy="Install containerd, Docker or CRI-O, then run 'nvidia-ctk runtime configure --runtime=containerd' (or docker, crio).",
    references=("NVIDIA Container Toolkit, Installation Guide: configuring containerd",),
)
def present(runtimes: tuple[Runtime, ...], profile: Profile) -> Findings:
    kind = profile.runtime.kind
    if kind == "none":
        skip("the profile wants no container runtime")
    if not present_ones(runtimes, profile):
        found = [f"{one.key} ({need(one.state)})" for one in runtimes]
        yield fail(
            "no container runtime", code="absent", found=tuple(found), wanted="containerd, docker or crio" if kind == "any" else kind
        )
