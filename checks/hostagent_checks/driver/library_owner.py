"""Some of the driver's libraries belong to packages and others do not: two installations are mixed.

Leftovers of a .run installation win over the packages' files or are overwritten by them, again at each upgrade.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver

from ._container import host_libraries


@check(
    title="All driver libraries come from one installation",
    severity="warning",
    since="0.1",
    because=("driver.runfile",),
    headline="Driver libraries come from more than one installation",
    remedy=(
        Step("install", "Run 'nvidia-uninstall', or delete the named files; then reinstall the driver's packages."),
        Step("configure", "Renew the linker's cache.", command="ldconfig"),
    ),
    references=("NVIDIA Driver Installation Guide, section Removing the Driver",),
    confirm=(
        "dpkg -S <file>  # Debian, Ubuntu",
        "rpm -qf <file>  # RHEL, SUSE",
    ),
)
def library_owner(driver: Driver) -> Findings:
    libraries = host_libraries(driver)
    if not libraries:
        skip("the host has no driver library of its own")
    unowned = tuple(one.path for one in libraries if not need(one.package))
    if unowned and len(unowned) < len(libraries):
        yield fail(f"no package owns {', '.join(unowned)}", code="mixed", found=unowned, wanted="files of the driver's packages")
