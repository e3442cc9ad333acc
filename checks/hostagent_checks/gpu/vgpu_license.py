"""The vGPU has no license: some minutes after the guest's start its driver refuses CUDA, or slows it down to a crawl.

nvidia-gridd gets the license from the service that its token names, and gets it again while the guest runs. A physical GPU needs none, nor
does one that is passed through whole. Where the GPU answers, and answers this one question with an error, a GPU that is known to be no
vGPU is not judged; of a vGPU the license is not known, which is a warning.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.domains.gpu.nvml_errors import is_odd
from hostagent.facts.gpu import Gpu

#: What NVML calls a GPU that a machine has as a whole.
_NOT_LICENSED = ("none", "passthrough")
_READ = (Step("drain_and_inspect", "Read the state of the license.", "nvidia-smi -q -i {subject}"),)


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
    licensed = gpu.vgpu_licensed
    if isinstance(licensed, Unread) and is_odd(licensed) and need(gpu.nvml_refusal) == 0:
        if not isinstance(gpu.virtualization, Unread) and gpu.virtualization in _NOT_LICENSED:
            skip("the GPU is no vGPU")
        text = f"the GPU answers, but not whether it is licensed ({licensed.detail or licensed.why})"
        headline = "Whether {device} has a license of a vGPU is not known"
        yield warn(text, code="not-read", found="no answer", wanted="licensed", headline=headline, remedy=_READ, at_most="warning")
    elif not need(gpu.vgpu_licensed):
        yield fail("no feature of the vGPU is licensed", code="unlicensed", found="unlicensed", wanted="licensed")
