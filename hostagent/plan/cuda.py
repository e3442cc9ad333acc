"""The CUDA toolkit: what TAO's host set-up wants beside driver and Container Toolkit."""

from hostagent.plan.model import CudaChoice, Given, Portion


def choose_cuda(_given: Given) -> tuple[CudaChoice, Portion]:
    """``cuda.install`` of the profile, where no toolkit satisfies ``cuda.toolkit``. Raises ``UnreadError``."""
    return CudaChoice(wanted=False), Portion()


def cuda_steps(_given: Given, _choice: CudaChoice) -> Portion:
    """One transaction: ``cuda.packages``. Raises ``UnreadError``."""
    return Portion()
