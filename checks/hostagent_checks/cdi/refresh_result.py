"""The last run of the CDI refresh left no specification: it failed, or it has not run since the boot.

It fails when the driver was not loaded yet, and some toolkit versions do not try again. The service's journal has the reason. It
counts where containers get GPUs by that specification alone, and is information where the runtime gives them in another way, too.
"""

from typing import Literal

from hostagent.check import Findings, Step, check, fail, need
from hostagent.domains.runtime.access import GpuAccess
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.cdi_versions import RENEW
from hostagent.facts.cdi import Cdi

from ._refresh import is_spare


@check(
    title="The last CDI refresh succeeded",
    severity="warning",
    since="0.1",
    because=("cdi.refresh_order", "driver.library_match", "driver.loaded", "driver.library_present"),
    headline="The last CDI refresh left no specification",
    remedy=(
        Step("restart_service", "Read why it failed.", command="journalctl -b -u nvidia-cdi-refresh.service"),
        RENEW,
    ),
    references=("systemctl(1), show: Result", "NVIDIA Container Toolkit issues 1517 and 1611"),
    confirm=(
        "systemctl status nvidia-cdi-refresh.service",
        "journalctl -b -u nvidia-cdi-refresh.service",
    ),
)
def refresh_result(cdi: Cdi, choice: RuntimeChoice, access: GpuAccess) -> Findings:
    result = need(cdi.refresh_result)
    if result == "success":
        return
    weight: Literal["info"] | None = "info" if is_spare(choice, access) else None
    if result == "not-run":
        message = "nvidia-cdi-refresh has not run since the boot"
        headline = "The CDI refresh has not run since the boot"
        yield fail(message, code="not-run", found="not run", wanted="success", at_most=weight, headline=headline)
    else:
        message = f"the last run of nvidia-cdi-refresh ended with {result}"
        yield fail(message, code="failed", found=result, wanted="success", at_most=weight)
