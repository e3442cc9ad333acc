"""The request to ``hostagent setup``: the script's flags and variables, in its two generations."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

from hostagent.core.errors import did_you_mean
from hostagent.setup import tao

#: 7.0 (branch and versions exactly) and 7.1 (minimums) of the script.
Generation = Literal["A", "B"]
Backend = Literal["docker", "local-docker", "kubernetes", "k8s"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)
DOCKER: tuple[Backend, ...] = ("docker", "local-docker")
OK, MISSING, USAGE = 0, 1, 2

_MINIMUM = re.compile(r"[0-9]+(?:[.][0-9]+)*")
#: In 7.0: an upstream version as in a package, with its suffix for candidates.
_PINNED = re.compile(r"[0-9]+(?:[.][0-9]+)*(?:[~.+-]?rc[.]?[0-9]*)?")
#: The minimums' flags, in the order of `Minimums`.
FLAGS = ("--min-driver-version", "--min-cuda-version", "--min-container-toolkit-version")
_EXACT_FLAG = "--exact"


class RequestError(Exception):
    """Flags, variables or a file with an invalid request; `code` is the script's. `message` is the script's own line where it has one,
    `detail` adds to it.
    """

    def __init__(self, message: str, code: int = USAGE, *, detail: str = "") -> None:
        super().__init__(message)
        self.message, self.code, self.detail = message, code, detail


class Minimums(NamedTuple):
    """Exact versions in generation A, minimums in B; as written, "1.19.0-1" without its revision."""

    driver: str
    cuda: str
    toolkit: str


class Flags(NamedTuple):
    """Flags of the command line; None where they are not set."""

    backend: str = "docker"
    exact: bool = False
    minimums: tuple[str | None, str | None, str | None] = (None, None, None)  # driver, CUDA toolkit, Container Toolkit
    install_docker: bool = True
    configure_docker: bool = True
    join_docker: bool = True


@dataclass(frozen=True)
class Names:
    """Package names of the script's variables, "" for the tables' own."""

    driver: str = ""  # NVIDIA_DRIVER_PACKAGE_DEBIAN, _RHEL, _SUSE: that of the host's family
    module: str = ""  # NVIDIA_DRIVER_KMOD_RHEL
    cuda: str = ""  # NVIDIA_CUDA_PACKAGE
    docker: str = ""  # DOCKER_PACKAGE_DEBIAN, else DOCKER_PACKAGE


@dataclass(frozen=True)
class Request:
    """All that the lines and the plan depend on, in addition to the host."""

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

    def names(self, family: str) -> Names:
        """Names for a host of the family debian, rhel or suse: each variable is about the packages of one family."""
        variables = self.variables
        is_rhel, is_debian = family == "rhel", family == "debian"
        return Names(
            driver=variables.get(f"NVIDIA_DRIVER_PACKAGE_{family.upper()}", ""),
            module=variables.get("NVIDIA_DRIVER_KMOD_RHEL", "") if is_rhel else "",
            cuda=variables.get("NVIDIA_CUDA_PACKAGE", ""),
            docker=(variables.get("DOCKER_PACKAGE_DEBIAN") or variables.get("DOCKER_PACKAGE", "")) if is_debian else "",
        )


def request_of(flags: Flags, environment: Mapping[str, str], required: tuple[str, str, str] = ("", "", "")) -> Request:
    """The request of flags, variables and a model's file (`required`, "" where it has no value). Raises ``RequestError``.

    A minimum is that of its flag, else of the file, else of its variable, else the generation's own. A variable that is empty is not set,
    as for the script.
    """
    known = (*tao.MINIMUM_VARIABLES, tao.BRANCH_VARIABLE, tao.TOOLKIT_VARIABLE, *tao.VARIABLES)
    variables = {name: environment[name] for name in known if environment.get(name)}
    generation = _generation(flags, variables, required)
    minimums = _exactly(variables) if generation == "A" else _at_least(flags, variables, required)
    user = environment.get("SUDO_USER", "")
    return Request(
        generation=generation,
        backend=_backend(flags.backend),
        minimums=minimums,
        cuda_path=variables.get("NVIDIA_CUDA_PATH") or tao.CUDA_PATH.format(minimums.cuda),
        variables=variables,
        install_docker=flags.install_docker,
        configure_docker=flags.configure_docker,
        join_docker=flags.join_docker,
        user="" if user == "root" else user,
    )


def _generation(flags: Flags, variables: Mapping[str, str], required: tuple[str, str, str]) -> Generation:
    named = [flag for flag, value in zip(FLAGS, flags.minimums, strict=True) if value is not None]
    if flags.exact:
        if named or any(required):
            other = named[0] if named else "--requirements"
            raise RequestError(f"found {_EXACT_FLAG} and {other}, wanted one of them: exact versions have no minimums")
        return "A"
    is_bounded = named or any(required) or any(name in variables for name in tao.MINIMUM_VARIABLES)
    return "A" if not is_bounded and (tao.BRANCH_VARIABLE in variables or tao.TOOLKIT_VARIABLE in variables) else "B"


def _exactly(variables: Mapping[str, str]) -> Minimums:
    branch, package = variables.get(tao.BRANCH_VARIABLE, tao.EXACT.driver), variables.get(tao.TOOLKIT_VARIABLE, tao.EXACT.toolkit)
    if not _MINIMUM.fullmatch(branch):
        raise _unnumbered(branch, tao.BRANCH_VARIABLE)
    toolkit = package.rpartition("-")[0] or package
    if not _PINNED.fullmatch(toolkit):
        raise _unnumbered(package, tao.TOOLKIT_VARIABLE)
    return Minimums(branch, tao.EXACT.cuda, toolkit)


def _at_least(flags: Flags, variables: Mapping[str, str], required: tuple[str, str, str]) -> Minimums:
    found = []
    for number, variable in enumerate(tao.MINIMUM_VARIABLES):
        value, origin = variables.get(variable, tao.MINIMUMS[number]), variable
        if required[number]:
            value, origin = required[number], "--requirements"
        given = flags.minimums[number]
        if given is not None:
            value, origin = given, FLAGS[number]
        if not _MINIMUM.fullmatch(value):
            raise _unnumbered(value, origin)
        found.append(value)
    return Minimums(*found)


def _unnumbered(value: str, origin: str) -> RequestError:
    return RequestError(
        f"Version requirements must contain only numeric dot-separated components: '{value}'", detail=f"It is the value of {origin}."
    )


def _backend(name: str) -> Backend:
    for one in BACKENDS:
        if one == name:
            return one
    hint = did_you_mean(name, BACKENDS).removeprefix("; ")
    raise RequestError(f"Unsupported backend: {name}", detail=f"{hint[:1].upper()}{hint[1:]}")
