"""The driver comes from two places at once: from NVIDIA's repository and from the distribution's archive.

Both ship the same files under different package names. The next upgrade stops with "trying to overwrite …", the fabric manager of
one does not fit the libraries of the other, and holds of one do not hold the other. A distribution's signed kernel module that its own
guide combines with NVIDIA's userland, as SUSE's and AlmaLinux's do, is no second origin.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.packages.tables.names import SIGNED_MODULE_PACKAGES, driver_part
from hostagent.facts.packages import Packages


@check(
    title="The packages of the driver come from one origin",
    severity="warning",
    since="0.1",
    headline="The packages of the driver come from more than one origin",
    remedy=(
        Step("install", "Choose one origin, and remove the packages of the other."),
        Step("install", "Install the whole driver from the origin that you chose."),
    ),
    references=("NVIDIA Driver Installation Guide, section Ubuntu", "canonical ubuntu-drivers issues 59, 60"),
    confirm=(
        "apt-cache policy <package>  # Debian, Ubuntu",
        "dnf list --installed '*nvidia*'  # RHEL: the last column is the repository",
    ),
)
def package_origin(packages: Packages) -> Findings:
    parts = [one for one in need(packages.installed) if driver_part(one.name) and not one.name.startswith(SIGNED_MODULE_PACKAGES)]
    ours = [(need(one.origin), one.name) for one in parts]
    known = {origin for origin, _ in ours if origin != "unknown"}
    if not known:
        skip("where the driver's packages come from is not known")
    if len(known) > 1:
        found = " and ".join(sorted(known))
        evidence = tuple(f"{name}: {origin}" for origin, name in sorted(ours))
        yield fail(f"driver packages come from {found}", code="mixed", found=found, wanted="one origin", evidence=evidence)
