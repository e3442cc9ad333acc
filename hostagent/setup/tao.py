"""Requirements of NVIDIA's TAO for a GPU host, in the two generations of its ``setup-nvidia-gpu-host.sh``.

Sources: NVIDIA/skills, tao-setup-nvidia-gpu-host (7.0: exactly these); NVIDIA-TAO/tao-skill-bank, platform/tao-setup-nvidia-gpu-host
(7.1: at least these). Read 2026-11. The built-in profiles tao-7.0 and tao-7.1 require the same; a test verifies that.
"""

from typing import NamedTuple


class Versions(NamedTuple):
    """By part of the host."""

    driver: str
    cuda: str
    toolkit: str


#: 7.0: the branch, the release and the package.
EXACT = Versions("580", "13.0", "1.19.0-1")
#: 7.1: the lower bounds.
MINIMUMS = Versions("580", "13.0", "1.19.0")
#: Where the CUDA toolkit of a release is.
CUDA_PATH = "/usr/local/cuda-{}"
#: And its package, in the script's words: "13-0".
CUDA_PACKAGE = "cuda-toolkit-{}"
#: The variables of the script that set a lower bound, in the order of `Versions`.
MINIMUM_VARIABLES = ("TAO_MIN_DRIVER_VERSION", "TAO_MIN_CUDA_VERSION", "TAO_MIN_CONTAINER_TOOLKIT_VERSION")
#: And those that only 7.0 has.
BRANCH_VARIABLE, TOOLKIT_VARIABLE = "NVIDIA_DRIVER_BRANCH", "NVIDIA_CONTAINER_TOOLKIT_VERSION"
#: All other variables that it reads.
VARIABLES = (
    *("NVIDIA_DRIVER_PACKAGE_DEBIAN", "NVIDIA_DRIVER_PACKAGE_RHEL", "NVIDIA_DRIVER_PACKAGE_SUSE", "NVIDIA_DRIVER_KMOD_RHEL"),
    *("NVIDIA_CUDA_PACKAGE", "NVIDIA_CUDA_PATH", "DOCKER_PACKAGE_DEBIAN", "DOCKER_PACKAGE"),
)
