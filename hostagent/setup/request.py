"""What is asked of ``hostagent setup``: the script's flags and variables, in its two generations."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

#: 7.0 (branch and versions exactly) and 7.1 (minimums) of the script.
Generation = Literal["A", "B"]
Backend = Literal["docker", "local-docker", "kubernetes", "k8s"]
DOCKER: tuple[Backend, ...] = ("docker", "local-docker")
OK, MISSING, USAGE = 0, 1, 2


class RequestError(Exception):
    """Flags, variables or a file that say what cannot be done; `code` is the script's. `usage`: whether the usage is shown with it."""

    def __init__(self, message: str, code: int = USAGE, *, usage: bool = True) -> None:
        super().__init__(message)
        self.message, self.code, self.usage = message, code, usage


class Minimums(NamedTuple):
    """Generation A: what it must be, generation B: what it must be at least; as written, "1.19.0-1" without its revision."""

    driver: str
    cuda: str
    toolkit: str


@dataclass(frozen=True)
class Names:
    """Package names of the script's variables, "" for the tables' own."""

    driver: str = ""  # NVIDIA_DRIVER_PACKAGE_DEBIAN, _RHEL, _SUSE: that of the host's family
    module: str = ""  # NVIDIA_DRIVER_KMOD_RHEL
    cuda: str = ""  # NVIDIA_CUDA_PACKAGE
    docker: str = ""  # DOCKER_PACKAGE_DEBIAN, else DOCKER_PACKAGE


@dataclass(frozen=True)
class Request:
    """All that the lines and the plan depend on, beside the host."""

    generation: Generation
    backend: Backend
    minimums: Minimums
    cuda_path: str  # NVIDIA_CUDA_PATH, else /usr/local/cuda-<minimum>
    variables: Mapping[str, str]  # those of the script that are set; `names` needs the family of the host
    install_docker: bool = True
    configure_docker: bool = True
    join_docker: bool = True  # the group docker
    user: str = ""  # SUDO_USER, "" for root itself

    @property
    def wants_docker(self) -> bool:
        return self.backend in DOCKER
