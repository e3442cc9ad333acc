"""The firmware of the GPU's system processor (GSP) for this driver version is missing from the disk.

The open module cannot start a GPU without it: "Direct firmware load for nvidia/<version>/gsp_….bin failed with error -2".
GPUs that are awake keep theirs: while NVML works it is a warning, and the next reset, reload or boot fails. The proprietary module falls
back to a driver without it: while NVML works with it, that is worth knowing and no more. Where the driver was upgraded on disk under the
loaded module, its package took the firmware of the old version with it: a reboot repairs that, as `driver.library_match` says.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, warn
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.boot import rebuild_initramfs
from hostagent.domains.packages.commands import install
from hostagent.domains.packages.tables.names import firmware_package
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

from ._module import module_flavour, module_version

_REBOOT = (Step("reboot", "Reboot the node: the driver was upgraded while its old module is loaded."),)


@check(
    title="The driver's GSP firmware is on disk",
    severity="critical",
    proved_by=("driver.nvml_initialises", "gpu.count_agrees"),
    since="0.1",
    order=41,  # after library_match: firmware of another version follows from it
    headline="The driver's GSP firmware is not on disk",
    remedy=(
        Step("install", "Install the firmware package in the driver's version."),
        Step("configure", "Rebuild the initramfs."),
        REBOOT,
    ),
    references=("NVIDIA driver README, chapter GSP Firmware", "NVIDIA/open-gpu-kernel-modules issues 639 and 943"),
    confirm=(
        "modinfo -F firmware nvidia  # the files that the driver wants",
        "ls -l /lib/firmware/nvidia/*/gsp_*.bin",
    ),
)
def gsp_firmware(driver: Driver, kernel: Kernel, packages: Packages | Unread, os: Os | Unread) -> Findings:
    version = module_version(driver, kernel)
    present = need(driver.gsp_firmware)
    if not any(name == version for name, _ in present):
        works = not isinstance(driver.nvml_error_code, Unread) and driver.nvml_error_code == 0
        upgraded = _is_upgraded(driver, version, {name for name, _ in present})
        is_open = module_flavour(driver, kernel) == "open"
        report = fail if is_open and not works and not upgraded else warn
        found = first_of(tuple(name for name, _ in present)) or "none"
        remedy = _REBOOT if upgraded else _steps(version, packages, os)
        finding = report(f"the disk has no GSP firmware of driver {version}", code="missing", found=found, wanted=version, remedy=remedy)
        yield finding if is_open or not works else finding._replace(at_most="info")


def _steps(version: str, packages: Packages | Unread, os: Os | Unread) -> tuple[Step, ...]:
    id_ = "" if isinstance(os, Unread) or isinstance(os.id, Unread) else os.id
    name = firmware_package(id_, version)
    at = "" if version in name else version
    command = install(packages, os, (name,), at) if name else ""
    return (Step("install", f"Install the GSP firmware of driver {version}.", command), rebuild_initramfs(packages), REBOOT)


def _is_upgraded(driver: Driver, version: str, present: "set[str]") -> bool:
    """Another driver, whose libraries and firmware are there, took the place of the one that is loaded."""
    library = driver.library("libnvidia-ml.so.1")
    return driver.loaded is True and not isinstance(library, Unread) and library.version != version and library.version in present
