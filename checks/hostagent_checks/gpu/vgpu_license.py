"""The vGPU has no license: some minutes after the guest's start its driver refuses CUDA, or slows it down to a crawl.

nvidia-gridd gets the license from the service that its token names, and gets it again while the guest runs. A physical GPU needs none, nor
does one that is passed through whole.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.gpu import Gpu


@check(
    title="The vGPU has a license",
    severity="critical",
    since="0.1",
    headline="{device} is a vGPU without a license",
    remedy=(
        Step("drain_and_inspect", "Find out why the license service gives none.", command="journalctl -u nvidia-gridd"),
        Step("configure", "Put the client's token into /etc/nvidia/ClientConfigToken, and check the clock."),
        Step("restart_service", "Ask for the license again.", command="systemctl restart nvidia-gridd"),
    ),
    references=("NVIDIA License System, Client Licensing User Guide", "NVIDIA NVML API Reference, nvmlDeviceGetGridLicensableFeatures_v4"),
    confirm=("nvidia-smi -q -i <address> | grep -A2 'Licensed Product'",),
)
def vgpu_license(gpu: Gpu) -> Findings:
    if not need(gpu.vgpu_licensed):
        yield fail("no feature of the vGPU is licensed", code="unlicensed", found="unlicensed", wanted="licensed")
