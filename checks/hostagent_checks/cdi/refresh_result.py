"""The last run of the CDI refresh left no specification: it failed, or it did not run since the boot.

It fails when the driver was not loaded yet, and some toolkit versions do not try again. The service's journal has the reason.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.cdi import Cdi


@check(
    title="The last CDI refresh succeeded",
    severity="warning",
    since="0.1",
    because=("cdi.refresh_order", "driver.nvml_initialises"),
    headline="The last CDI refresh failed",
    remedy=(
        Step(
            "restart_service",
            "Read 'journalctl -b -u nvidia-cdi-refresh.service', then run it again.",
            command="systemctl restart nvidia-cdi-refresh.service",
        ),
    ),
    references=("systemctl(1), show: Result", "NVIDIA Container Toolkit issue 1611"),
)
def refresh_result(cdi: Cdi) -> Findings:
    result = need(cdi.refresh_result)
    if result == "not-run":
        yield fail("nvidia-cdi-refresh has not run since the boot, wanted a run", code="not-run", found="not run", wanted="success")
    elif result != "success":
        yield fail(f"the last run of nvidia-cdi-refresh ended with {result}, wanted success", code="failed", found=result, wanted="success")
