"""Confidential computing is on, and its GPUs do not take work yet: CUDA fails with error 802, 'system not yet initialized'.

The driver starts such GPUs in the state "not ready"; the service that attests them sets them ready. With confidential computing off, the
default, there is no such state.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.driver import Driver


@check(
    title="GPUs of confidential computing take work",
    severity="critical",
    since="0.1",
    headline="Confidential computing is on, and the GPUs are not set ready for work",
    remedy=(
        Step("drain_and_inspect", "Attest the GPUs: an attestation that fails leaves them not ready.", "nvidia-smi conf-compute -q"),
        Step("configure", "Once they are attested, set them ready.", "nvidia-smi conf-compute -srs 1"),
    ),
    references=("NVIDIA NVML API Reference, nvmlSystemGetConfComputeGpusReadyState",),
    confirm=("nvidia-smi conf-compute -grs  # the ready state",),
)
def confidential_ready(driver: Driver) -> Findings:
    if not need(driver.confidential_ready):
        yield fail("NVML says that the GPUs are not ready", code="not-ready", found="not ready", wanted="ready")
