"""The script's hints, word for word, because callers may search for them."""

from hostagent.setup.distribution import Distribution
from hostagent.setup.line import Line
from hostagent.setup.request import Request

CUDA_GUIDE = "https://docs.nvidia.com/cuda/cuda-installation-guide-linux/"
TOOLKIT_GUIDE = "https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/install-guide.html"
_DOCKER_PACKAGE = "docker.io"


def docker_hint(request: Request, system: Distribution) -> tuple[Line, ...]:
    """The hint where Docker is not installed."""
    rerun = "Rerun with --install (not --skip-docker-install) to install"
    finish = "and finish the NVIDIA runtime wiring."
    texts = {
        "debian": (rerun, f"'{docker_package(request)}' via apt {finish}"),
        "rhel": (rerun, f"docker-ce / moby-engine via {system.manager} {finish}"),
        "suse": (rerun, f"'docker' via zypper {finish}"),
        "arch": (
            "Install Docker manually for Arch-family hosts:",
            "    sudo pacman -S docker && sudo systemctl enable --now docker",
            "Then rerun this script to wire the NVIDIA Container Toolkit runtime.",
        ),
        "unknown": ("Install Docker for your distribution (see", "https://docs.docker.com/engine/install/), then rerun this script."),
    }[system.family]
    return tuple(Line("", f"         {text}") for text in texts)


def docker_package(request: Request) -> str:
    """The name of Docker's package on Debian's family, by the script's variables."""
    return request.names("debian").docker or _DOCKER_PACKAGE


def closing_hint(request: Request, system: Distribution) -> tuple[Line, ...]:
    """The end of a check with missing parts: an empty line, then what to do."""
    if system.installs:
        what = "install the pinned runtime" if request.generation == "A" else "install or update the runtime"
        return Line("", ""), Line("", f"Run with --install --yes after user approval to {what}.")
    texts = (
        "Automatic install is not available for this distribution. See the",
        "MISSING messages above and the NVIDIA install guides at",
        *(f"  {address}" for address in (CUDA_GUIDE, TOOLKIT_GUIDE)),
    )
    return Line("", ""), *(Line("", text) for text in texts)
