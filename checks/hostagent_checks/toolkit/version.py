"""The toolkit has a version that the profile does not accept: containers get something else than jobs were tested with.

Versions with two fields, release candidates and package suffixes are compared as versions: a candidate is older than its release.
Where the profile gives the toolkit to a container, or to any owner and the host has no packages of it, the copy that the GPU Operator
puts on the host counts. A version that is newer than an exact pin may fix a vulnerability: then change the profile, not the toolkit.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.version import satisfies
from hostagent.profile import Profile

_NEWER = "Keep it, a newer one holds fixes: judge by a profile that takes it (tao-7.1 wants at least a version, any takes every one)."


@check(
    title="The NVIDIA Container Toolkit is of the version the profile wants",
    severity="critical",
    since="0.1",
    headline="The NVIDIA Container Toolkit is {found}, the profile wants {wanted}",
    remedy=(
        Step(
            "install",
            "Install the wanted version of all four packages, each by name and version (for the GPU Operator: toolkit.version of its "
            "values); or use the profile 'any', which takes every version.",
        ),
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
        skip("the profile gives the toolkit to the provider")
    operators = profile.toolkit.owner == "container" or (profile.toolkit.owner == "any" and _is_operators(toolkit))
    found = need(toolkit.operator_version) if operators else need(toolkit.version)
    if not found:
        skip("the GPU Operator has put no toolkit on this host yet")
    wanted = profile.toolkit.version
    if not satisfies(found, wanted):
        is_newer = wanted.startswith("==") and satisfies(found, wanted.replace("==", ">="))
        remedy = _NEWER if is_newer else ""
        yield fail(
            f"toolkit {found}, profile wants {wanted}", code="other-version", found=found, wanted=wanted, remedy=remedy, action="install"
        )


def _is_operators(toolkit: Toolkit) -> bool:
    return not need(toolkit.packages) and bool(need(toolkit.operator_version))
