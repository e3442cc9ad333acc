"""nvidia_modeset is not loaded: containers that ask for graphics or display get no /dev/nvidia-modeset. Compute does not need it."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.driver.boot import load_at_boot
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel


@check(
    title="The module nvidia_modeset is loaded",
    severity="info",
    since="0.1",
    because=("driver.loaded",),
    headline="The module nvidia_modeset is not loaded",
    remedy=(
        load_at_boot("nvidia-modeset"),
        Step("restart_service", "Load it now, if containers render graphics.", command="nvidia-modprobe -m"),
    ),
    references=("nvidia-modprobe(1)",),
    confirm=("lsmod | grep nvidia_modeset",),
)
def modeset_loaded(kernel: Kernel, driver: Driver) -> Findings:
    if not need(driver.loaded):
        skip("the nvidia module is not loaded")
    if "nvidia_modeset" not in need(kernel.loaded_modules):
        yield fail("nvidia_modeset is not loaded", code="not-loaded", found="not loaded", wanted="loaded")
