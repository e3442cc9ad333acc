"""Some of the driver's libraries belong to packages and others to none: two installations are mixed.

Leftovers of a .run installation win over the packages' files or are overwritten by them, again at each upgrade.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.domains.packages.commands import reinstall
from hostagent.facts.driver import Driver
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

from ._container import host_libraries


@check(
    title="All driver libraries come from one installation",
    severity="warning",
    since="0.1",
    because=("driver.runfile",),
    headline="Driver libraries come from more than one installation",
    remedy=(
        Step("install", "Delete the libraries that belong to no package."),
        Step("install", "Reinstall the driver's packages."),
        Step("configure", "Renew the linker's cache.", command="ldconfig"),
    ),
    references=("NVIDIA Driver Installation Guide, section Removing the Driver",),
    confirm=(
        "dpkg -S <file>  # Debian, Ubuntu",
        "rpm -qf <file>  # RHEL, SUSE",
    ),
)
def library_owner(driver: Driver, packages: Packages | Unread, os: Os | Unread) -> Findings:
    libraries = host_libraries(driver)
    if not libraries:
        skip("the host has no driver library of its own")
    unowned = tuple(one.path for one in libraries if not need(one.package))
    if unowned and len(unowned) < len(libraries):
        owners = dict.fromkeys(need(one.package) for one in libraries if need(one.package))
        again = Step("install", "Reinstall the driver's packages.", reinstall(packages, os, owners))
        steps = (_remove(driver), again, Step("configure", "Renew the linker's cache.", "ldconfig"))
        shown = first_of(unowned)
        yield fail(f"no package owns {shown}", code="mixed", found=shown, wanted="files of the driver's packages", remedy=steps)


def _remove(driver: Driver) -> Step:
    traces = () if isinstance(driver.runfile_traces, Unread) else driver.runfile_traces
    if any(path.endswith("/nvidia-uninstall") for path in traces):
        return Step("install", "Remove the .run installation.", "nvidia-uninstall")
    return Step("install", "Delete the libraries that belong to no package.")
