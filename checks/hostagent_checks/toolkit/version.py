"""The toolkit is another version than the profile asks for: what containers get differs from what jobs were tested with.

Versions with two fields, release candidates and package suffixes are compared as versions: a candidate is older than its release.
Where the profile gives the toolkit to a container, or to any owner and the host has no packages of it, the copy that the GPU Operator
puts on the host counts. Newer than an exact pin may be the fix of a vulnerability: the profile is then what changes, not the toolkit.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.version import satisfies
from hostagent.profile import Profile

_NEWER = (Step("configure", "Keep it, because a newer one has fixes; accept it in toolkit.version of the profile."),)


@check(
    title="The NVIDIA Container Toolkit is the version that the profile asks for",
    severity="critical",
    since="0.1",
    because=("gpu.present:none",),
    headline="The NVIDIA Container Toolkit is {found}, the profile asks for {wanted}",
    remedy=(
        Step("configure", "If this toolkit is right, use the profile 'any', or set toolkit.version in your own."),
        Step("install", "If not, install a toolkit that the profile accepts, all four packages in one version."),
    ),
    references=("NVIDIA Container Toolkit, Release Notes",),
    confirm=(
        "nvidia-ctk --version",
        "dpkg -l '*nvidia-container*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia-container*'  # RHEL, SUSE",
    ),
)
def version(toolkit: Toolkit, profile: Profile) -> Findings:
    if profile.toolkit.owner == "provider":
        skip("the profile leaves the toolkit to the provider")
    operators = profile.toolkit.owner == "container" or (profile.toolkit.owner == "any" and _is_operators(toolkit))
    found = need(toolkit.operator_version) if operators else need(toolkit.version)
    if not found:
        skip("the GPU Operator has put no toolkit on this host yet")
    wanted = profile.toolkit.version
    if not satisfies(found, wanted):
        is_newer = wanted.startswith("==") and satisfies(found, wanted.replace("==", ">="))
        remedy = _NEWER if is_newer else _of_operator(wanted) if operators else ()
        yield fail(f"toolkit {found}, the profile asks for {wanted}", code="other-version", found=found, wanted=wanted, remedy=remedy)


def _of_operator(wanted: str) -> tuple[Step, ...]:
    return (Step("contact_owner", f"Set toolkit.version of the GPU Operator so that it matches {wanted}."),)


def _is_operators(toolkit: Toolkit) -> bool:
    return not need(toolkit.packages) and bool(need(toolkit.operator_version))
