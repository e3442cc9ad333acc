"""Packages and space of a part's transaction, by the package manager's own answer."""

from collections.abc import Iterable

from hostagent.core.unread import need
from hostagent.plan.model import Given, Part, PlannedPackage
from hostagent.plan.offers import Transaction

#: Part of the address of NVIDIA's repository with the driver, on the network or unpacked from its package.
_CUDA_ADDRESSES = ("/compute/cuda/repos/", "/nvidia-driver-local-repo", "/cuda-repo-")
_TOOLKIT_ADDRESS = "/libnvidia-container/"


def moved_by(given: Given, argv: tuple[str, ...], part: Part) -> "tuple[PlannedPackage, ...] | None":
    """Packages that are installed, changed and removed; None before the question, () where the package manager refuses."""
    answer = given.offers.transactions.get(argv)
    if answer is None:
        return None
    if answer.error:
        return ()
    return tuple(
        PlannedPackage(
            one.name,
            part,
            one.before or None,
            one.after or None,
            origin_of(given, one.url) if one.after else "",
            size_of(given, one.name, one.after),
        )
        for one in answer.moved
    )


def named(given: Given, part: Part, packages: Iterable[tuple[str, str]], origin: str) -> tuple[PlannedPackage, ...]:
    """The packages that a part names itself, before the question. Raises ``UnreadError``."""
    have = {one.name: one.version for one in need(need(given.view.installation).packages) if one.state == "installed"}
    return tuple(
        PlannedPackage(name, part, have.get(name), version or "*", origin) for name, version in packages if have.get(name) != version
    )


def space_of(answer: "Transaction | None") -> tuple[tuple[str, int], ...]:
    """By the directory; () before it was asked."""
    needed = (("/usr", max(0, answer.disk_bytes)), ("/var", answer.download_bytes)) if answer else ()
    return tuple((path, count) for path, count in needed if count)


def origin_of(given: Given, url: str) -> str:
    """The origin of the repository at this address."""
    repositories = given.profile.install.repositories
    if is_cuda(url, (repositories.cuda.url,)):
        return "cuda"
    return "toolkit" if is_toolkit(url, (repositories.toolkit.url,)) else "distribution"


def size_of(given: Given, name: str, version: str) -> "int | None":
    found = (one.size_bytes for one in given.offers.candidates.get(name, ()) if one.version == version and one.size_bytes)
    return next(found, None)


def is_cuda(url: str, mirrors: Iterable[str]) -> bool:
    """Whether a repository is NVIDIA's with the driver, or a mirror of it.

    >>> is_cuda("https://mirror/nvidia/", ["https://mirror/nvidia"]), is_cuda("http://mirror.example/debian/", ["https://mirror/nvidia"])
    (True, False)
    """
    return any(part in url for part in _CUDA_ADDRESSES) or _plain(url) in {_plain(one) for one in mirrors if one}


def is_toolkit(url: str, mirrors: Iterable[str]) -> bool:
    """The same for the toolkit's repository."""
    return _TOOLKIT_ADDRESS in url or _plain(url) in {_plain(one) for one in mirrors if one}


def _plain(url: str) -> str:
    """``file:///srv`` and ``file:/srv/`` are one."""
    return url.replace("file:///", "file:/", 1).rstrip("/")
