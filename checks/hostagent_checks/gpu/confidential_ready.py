"""Confidential computing is on, and its GPUs do not take work yet: CUDA fails with error 802, 'system not yet initialized'.

The driver starts such GPUs in the state "not ready"; the service that attests them sets them ready. With confidential computing off, the
default, there is no such state. Where NVML starts and answers this one question with an error, the state is not known: a warning.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, warn
from hostagent.domains.gpu.nvml_errors import is_odd
from hostagent.facts.driver import Driver

_READ = (Step("drain_and_inspect", "Read whether confidential computing is on.", "nvidia-smi conf-compute -q"),)


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
    ready = driver.confidential_ready
    if isinstance(ready, Unread) and is_odd(ready) and need(driver.nvml_error_code) == 0:
        text = f"NVML answers, but not whether confidential computing is on ({ready.detail or ready.why})"
        headline = "Whether confidential computing is on is not known"
        yield warn(text, code="not-read", found="no answer", wanted="off, or ready", headline=headline, remedy=_READ, at_most="warning")
    elif not need(driver.confidential_ready):
        yield fail("NVML says that the GPUs are not ready", code="not-ready", found="not ready", wanted="ready")
