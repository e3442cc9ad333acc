"""How long NVML's calls may take. The worker and who waits for it go by one table: a worker grants itself no time."""

# Waking a GPU happens in the handle call, not in init: without a persistence daemon the first nvmlDeviceGetHandleByIndex of each
# GPU is as slow as nvmlInit.

from hostagent.sandbox import worker_spec

#: Seconds for initialising NVML, and for the first call to each GPU, where no persistence daemon keeps the GPUs awake.
FIRST_INIT_S = 10.0


def allowed_s(question: tuple[str, ...], label: str) -> float:
    """Seconds, at most: the worker asks for less where GPUs are awake.

    >>> allowed_s(("nvml", "init"), "nvmlInit"), allowed_s(("nvml", "device", "0", "name"), "nvmlDeviceGetName 0")
    (10.0, 1.0)
    """
    if question == ("nvml", "init") or (question[:2] == ("nvml", "device") and question[3:] == ("handle",)):
        return FIRST_INIT_S
    return worker_spec.allowed_s(question, label)
