"""Timeouts of NVML's calls, a table for both the worker and its parent: a worker cannot extend its own time."""

# Waking a GPU happens in the handle call, not in init: without a persistence daemon the first nvmlDeviceGetHandleByIndex of each
# GPU is as slow as nvmlInit.

from hostagent.sandbox import worker_spec

#: Seconds for initialising NVML, and for the first call to each GPU, where no persistence daemon keeps the GPUs awake.
FIRST_INIT_S = 10.0


def allowed_s(question: tuple[str, ...], label: str) -> float:
    """The timeout in seconds; the worker uses a shorter one if GPUs are awake.

    >>> allowed_s(("nvml", "init"), "nvmlInit"), allowed_s(("nvml", "device", "0", "name"), "nvmlDeviceGetName 0")
    (10.0, 1.0)
    """
    if question == ("nvml", "init") or (question[:2] == ("nvml", "device") and question[3:] == ("handle",)):
        return FIRST_INIT_S
    return worker_spec.allowed_s(question, label)
