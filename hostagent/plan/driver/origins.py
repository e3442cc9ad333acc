"""Where the driver comes from: what is installed decides, then the profile."""

from collections.abc import Iterable

from hostagent.facts.packages import Package
from hostagent.facts.unread import need
from hostagent.knowledge.packages import MODULES_BESIDE_CUDA, driver_part, is_driver_version
from hostagent.plan.view import View

#: Names that only NVIDIA's repository for Debian has, and that only Debian's archive has.
_OF_CUDA = ("nvidia-driver-cuda", "nvidia-kernel-open-dkms", "nvidia-open", "cuda-drivers")
_OF_DEBIAN = ("nvidia-open-kernel-dkms", "nvidia-alternative")
_SERVER = "-server"
#: What the address of a repository of NVIDIA's with the driver has, on the network or unpacked from its package.
_CUDA_ADDRESSES = ("/compute/cuda/repos/", "/nvidia-driver-local-repo", "/cuda-repo-")
_TOOLKIT_ADDRESS = "/libnvidia-container/"


def installed_origins(view: View) -> tuple[str, ...]:
    """``cuda``, ``distribution``, both or none: where the installed packages of the driver come from. Raises ``UnreadError``."""
    parts = [
        one
        for one in need(need(view.packages).installed)
        if driver_part(one.name) and is_driver_version(need(one.upstream)) and not one.name.startswith(MODULES_BESIDE_CUDA)
    ]
    known = {one.origin for one in parts if one.origin in ("cuda", "distribution")}
    if parts and not known:
        return (_by_name(view, parts),)
    return tuple(sorted(known))


def _by_name(view: View, parts: list[Package]) -> str:
    """Of packages that nothing says it of: their names, then the sources that the host has."""
    names = {one.name for one in parts}
    if names & set(_OF_DEBIAN) or any(_SERVER in name for name in names):
        return "distribution"
    if names & set(_OF_CUDA) or need(need(view.packages).manager) == "rpm":
        return "cuda"
    sources = need(need(view.packages).apt_sources)
    return "cuda" if any(one.enabled and is_cuda(one.uri, ()) for one in sources) else "distribution"


def is_cuda(url: str, mirrors: Iterable[str]) -> bool:
    """Whether a repository is NVIDIA's with the driver, or a mirror of it.

    >>> is_cuda("https://mirror/nvidia/", ["https://mirror/nvidia"]), is_cuda("http://mirror.example/debian/", ["https://mirror/nvidia"])
    (True, False)
    """
    return any(part in url for part in _CUDA_ADDRESSES) or _plain(url) in {_plain(one) for one in mirrors if one}


def is_toolkit(url: str, mirrors: Iterable[str]) -> bool:
    """The same of the toolkit's."""
    return _TOOLKIT_ADDRESS in url or _plain(url) in {_plain(one) for one in mirrors if one}


def _plain(url: str) -> str:
    """``file:///srv`` and ``file:/srv/`` are one."""
    return url.replace("file:///", "file:/", 1).rstrip("/")
