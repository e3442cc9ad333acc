"""The runtime starts a toolkit of another owner than the profile's.

The GPU Operator's toolkit DaemonSet and the host's packages write the same drop-in. An entry below /usr/local/nvidia/toolkit is the
operator's: on a host whose profile owns the toolkit, upgrades and security fixes of the packages have no effect, and the entry breaks
when the DaemonSet goes. The reverse holds where containers are to own it.
"""

from hostagent.check import Findings, Step, check, fail, skip
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime
from hostagent.profile import Profile

from ._choice import nvidia_handlers, skip_unserving


@check(
    title="NVIDIA runtime entries start the toolkit that the profile names",
    severity="warning",
    part="",
    since="0.1",
    headline="NVIDIA runtime entries start a toolkit of another owner than the profile names",
    remedy=(
        Step(
            "contact_owner",
            "Keep one owner: set toolkit.owner in the profile, or toolkit.enabled=false in the GPU Operator.",
        ),
    ),
    references=("NVIDIA GPU Operator, Installing: common chart customization options",),
    confirm=(
        "containerd config dump | grep -n BinaryName",
        "ls -l /usr/local/nvidia/toolkit /usr/bin/nvidia-container-runtime",
    ),
)
def operator_owned(runtime: Runtime, choice: RuntimeChoice, profile: Profile) -> Findings:
    skip_unserving(runtime, choice)
    if profile.toolkit.owner in ("provider", "any"):
        skip(f"the profile leaves the toolkit to {'the provider' if profile.toolkit.owner == 'provider' else 'any owner'}")
    for handler in nvidia_handlers(runtime):
        owner = "container" if handler.binary.startswith("/usr/local/nvidia/toolkit/") else "host"
        if owner != profile.toolkit.owner:
            found = f"{handler.name}: {handler.binary or 'default'} ({owner})"
            text = f"entry {found}; the profile names the {profile.toolkit.owner} as the toolkit's owner"
            yield fail(text, code=f"owned-by-{owner}", found=found, wanted=profile.toolkit.owner)
