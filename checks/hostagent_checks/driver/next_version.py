"""The next boot loads an nvidia module with a version that the profile does not accept.

An upgrade of the packages shows here at once, while `driver.version` still looks at what is loaded. In an image `driver.version` looks at
the first boot.
"""

from hostagent.check import Findings, Step, check, fail, need, skip, warn
from hostagent.facts.kernel import Kernel
from hostagent.facts.unread import Unread, then
from hostagent.facts.version import satisfies, upstream
from hostagent.profile import Profile


@check(
    title="The next boot loads a driver of the version the profile wants",
    severity="warning",
    since="0.1",
    because=("driver.version",),
    headline="The next boot loads driver {found}, the profile wants {wanted}",
    remedy=(Step("install", "Install the wanted driver from the origin that the host already uses, and hold its packages."),),
    references=("NVIDIA Driver Installation Guide, section Version Locking",),
    confirm=("modinfo -k <kernel> -F version nvidia",),
)
def next_version(kernel: Kernel, profile: Profile) -> Findings:
    is_image = any(isinstance(one, Unread) and one.why == "not-running" for one in (kernel.booted_at, kernel.loaded_modules))
    if is_image and need(kernel.next_release) == need(kernel.release):
        skip("driver.version judges the kernel of the first boot")
    wanted = profile.driver.version
    modules = [(release, then(kernel.at(release), lambda one: one.nvidia_version)) for release in need(kernel.next_releases)]
    known = [(release, version) for release, version in modules if not (isinstance(version, Unread) and version.why == "absent")]
    for release, version in known:
        found = need(upstream(need(version)))
        if not satisfies(found, wanted):
            message = f"kernel {release} has driver {found}, profile wants {wanted}"
            yield (fail if is_image else warn)(message, code="other-version", found=found, wanted=wanted)
    if len(known) < len(modules):
        need(kernel.next_release)
        skip("a kernel of the next boot has no nvidia module: kernel.next_has_module judges that")
