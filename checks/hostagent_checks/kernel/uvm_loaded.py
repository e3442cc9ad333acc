"""nvidia_uvm is not loaded: CUDA cannot start in containers whose device nodes were listed before that module was loaded.

A CUDA program on the host loads it by the setuid program nvidia-modprobe. A container cannot: without /dev/nvidia-uvm
cuInit ends with error 999, and a CDI specification made in that state lacks the node until it is made again.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.domains.driver.boot import load_at_boot
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel


@check(
    title="The module nvidia_uvm is loaded",
    severity="warning",
    since="0.1",
    because=("driver.loaded",),
    headline="The module nvidia_uvm is not loaded",
    remedy=(
        load_at_boot("nvidia-uvm"),
        Step("restart_service", "Load it now.", command="nvidia-modprobe -c0 -u"),
    ),
    references=("nvidia-modprobe(1)", "NVIDIA/nvidia-container-toolkit issue 1934"),
    confirm=(
        "lsmod | grep nvidia_uvm",
        "ls -l /dev/nvidia-uvm",
    ),
)
def uvm_loaded(kernel: Kernel, driver: Driver) -> Findings:
    if not need(driver.loaded):
        skip("the nvidia module is not loaded")
    if "nvidia_uvm" not in need(kernel.loaded_modules):
        yield fail("nvidia_uvm is not loaded", code="not-loaded", found="not loaded", wanted="loaded")
