"""The next boot loads an nvidia module of another version than the profile wants. Of an image: any boot of it does.

An upgrade of the packages shows here at once, while `driver.version` still judges what is loaded.
"""

from hostagent.check import Findings, check, fail, need, warn
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread
from hostagent.facts.version import satisfies, upstream
from hostagent.profile import Profile


@check(
    title="The next boot loads a driver of the version the profile wants",
    severity="critical",
    since="0.1",
    remedy="Install the wanted driver from the origin the host already uses, and hold its packages.",
    references=("NVIDIA Driver Installation Guide, section Version Locking",),
)
def next_version(kernel: Kernel, profile: Profile) -> Findings:
    following = need(kernel.at(kernel.next_release))
    found = need(upstream(need(following.nvidia_version)))
    if not satisfies(found, profile.driver.version):
        is_image = isinstance(kernel.booted_at, Unread) and kernel.booted_at.why == "not-running"
        yield (fail if is_image else warn)(
            f"kernel {following.release} has driver {found}, profile wants {profile.driver.version}",
            code="other-version",
            found=found,
            wanted=profile.driver.version,
        )
