"""The toolkit is of another version than the profile wants: what containers get differs from what jobs were tested with.

Versions with two fields, release candidates and package suffixes are compared as versions: a candidate is older than its release.
Where the profile gives the toolkit to a container, the copy that the GPU Operator puts on the host is judged.
"""

from hostagent.check import Findings, check, fail, need, skip
from hostagent.facts.toolkit import Toolkit
from hostagent.facts.version import satisfies
from hostagent.profile import Profile


@check(
    title="The NVIDIA Container Toolkit is of the version the profile wants",
    severity="critical",
    since="0.1",
    remedy="Install the wanted version of all four packages by name and version; a GPU Operator's is toolkit.version of its values.",
    references=("NVIDIA Container Toolkit, Release Notes",),
)
def version(toolkit: Toolkit, profile: Profile) -> Findings:
    found = need(toolkit.operator_version) if profile.toolkit.owner == "container" else need(toolkit.version)
    if not found:
        skip("the GPU Operator has put no toolkit on this host yet")
    if not satisfies(found, profile.toolkit.version):
        yield fail(
            f"toolkit {found}, profile wants {profile.toolkit.version}", code="other-version", found=found, wanted=profile.toolkit.version
        )
