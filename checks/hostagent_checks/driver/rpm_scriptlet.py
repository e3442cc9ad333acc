"""The package manager said "Complete!", and there is no kernel module: the package's script failed, and nobody was told.

rpm goes on when a script after the installation fails, so the package counts as installed. The DKMS package of the driver builds
the module in that script; without a compiler, headers or an initramfs tool nothing was built, or not even registered. EKS's images keep the
modules in archives and install one at their first boot.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.driver.boot import build_module
from hostagent.domains.driver.owned import first_boot_archive
from hostagent.domains.packages.commands import reinstall
from hostagent.domains.packages.tables.names import driver_part, driver_stem
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.platform import Platform


@check(
    title="The install scripts of the driver's rpm packages succeeded",
    severity="critical",
    since="0.1",
    because=("kernel.module_present",),
    headline="An install script of the driver's rpm packages failed",
    remedy=(
        Step("install", "Install the headers of that kernel."),
        Step("install", "Build the module.", command="dkms autoinstall -k <kernel>"),
    ),
    references=("rpm-scriptlets(7)", "Fedora Packaging Guidelines, section Scriptlets"),
    confirm=(
        "dkms status",
        "dnf history info last",
        "find /lib/modules -name 'nvidia*.ko*'",
    ),
)
def rpm_scriptlet(packages: Packages, driver: Driver, kernel: Kernel, platform: Platform, os: Os | Unread) -> Findings:
    if need(packages.manager) != "rpm":
        skip("dpkg reports a failed script as the package's state")
    builders = [one.name for one in need(packages.installed) if driver_part(one.name) and driver_stem(one.name).endswith("-dkms")]
    if not builders:
        skip("no package that builds the driver with DKMS is installed")
    release = need(kernel.release)
    if any(one.release == release and need(one.nvidia_path) for one in need(kernel.installed)):
        return
    if archive := first_boot_archive(platform, driver, release):
        skip(f"the image installs the module at its first boot, out of {archive}")
    registered = any(True for _ in need(driver.dkms))
    found = f"{'none built' if registered else 'nothing registered'} in DKMS"
    code = "not-built" if registered else "not-registered"
    again = Step("install", "Run the package's script again.", reinstall(packages, os, builders[:1]))
    steps = build_module(kernel, packages, os, release)
    steps = steps if registered else (*steps[:-1], again)
    text = f"{builders[0]} is installed, but it built no module for kernel {release} ({found})"
    yield fail(text, code=code, found=found, wanted=f"a module for {release}", remedy=steps)
