"""The next boot loads another version of the nvidia module than the profile asks for.

An upgrade of the packages shows here at once, while `driver.version` still checks what is loaded. Of an image `driver.version` checks
the first boot.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, then, warn
from hostagent.facts.kernel import Kernel
from hostagent.facts.version import satisfies, upstream
from hostagent.profile import Profile


@check(
    title="The next boot loads the driver version that the profile asks for",
    severity="warning",
    since="0.1",
    because=("driver.version",),
    headline="The next boot loads driver {found}, the profile asks for {wanted}",
    remedy=(Step("install", "Before the next reboot, install a driver that the profile accepts."),),
    references=("NVIDIA Driver Installation Guide, section Version Locking",),
    confirm=("modinfo -k <kernel> -F version nvidia",),
)
def next_version(kernel: Kernel, profile: Profile) -> Findings:
    is_image = any(isinstance(one, Unread) and one.why == "not-running" for one in (kernel.booted_at, kernel.loaded_modules))
    if is_image and need(kernel.next_release) == need(kernel.release):
        skip("driver.version checks the kernel of the first boot")
    wanted = profile.driver.version
    modules = [(release, then(kernel.at(release), lambda one: one.nvidia_version)) for release in need(kernel.next_releases)]
    known = [(release, version) for release, version in modules if not (isinstance(version, Unread) and version.why == "absent")]
    for release, version in known:
        found = need(upstream(need(version)))
        if not satisfies(found, wanted):
            message = f"kernel {release} has driver {found}, the profile asks for {wanted}"
            yield (fail if is_image else warn)(message, code="other-version", found=found, wanted=wanted)
    if len(known) < len(modules):
        need(kernel.next_release)
        skip("a kernel of the next boot has no nvidia module; kernel.next_has_module checks that")
