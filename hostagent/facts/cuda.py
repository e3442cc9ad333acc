"""CUDA toolkits on the host."""

from hostagent.core.frozen import frozen
from hostagent.core.unread import Unread


@frozen
class CudaToolkit:
    """One CUDA toolkit in a folder of its own."""

    path: str  # /usr/local/cuda-13.0, links resolved
    version: str | Unread  # of version.json, else of its nvcc's package: "13.0.2"
    nvcc: bool | Unread  # bin/nvcc is there, and may be executed
    names: tuple[str, ...] = ()  # of /usr/local/cuda* that lead to it, itself included


@frozen
class Cuda:
    """Read by ``setup``, ``plan``, ``install`` and ``snapshot save``, never by ``check``."""

    toolkits: tuple[CudaToolkit, ...] | Unread  # of /usr/local/cuda*, sorted by path
    default: str | Unread  # what /usr/local/cuda leads to; "" where there is none
