"""The GPU's InfoROM is corrupt: its serial number, its ECC history and its row remaps cannot be trusted."""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu


@check(
    title="The GPU's InfoROM is valid",
    severity="warning",
    since="0.1",
    headline="The InfoROM of {device} is corrupt",
    remedy=(Step("replace", "Have the GPU's vendor reflash or replace it."),),
    references=("NVIDIA NVML API Reference, nvmlDeviceValidateInforom",),
    confirm=(
        "nvidia-smi -q -i <address> | grep -i -A6 inforom",
        "journalctl -k -g inforom",
    ),
)
def inforom(gpu: Gpu) -> Findings:
    if not need(gpu.inforom_valid):
        yield fail("the InfoROM is corrupt, by its own checksums", code="corrupt", found="corrupt", wanted="valid")
