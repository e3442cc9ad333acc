"""CUDA toolkits below /usr/local, the prefix of NVIDIA's packages and of its runfile.

Sources: CUDA Installation Guide for Linux ("Post-installation Actions", alternatives for /usr/local/cuda); version.json of the
cuda-toolkit packages, version.txt before CUDA 11. Read 2026-11.
"""

import re
from collections.abc import Callable
from typing import Any

from hostagent.core.answers import KIB
from hostagent.core.parsing import stops_at_unread
from hostagent.core.retention import Keep
from hostagent.core.unread import NOT_THERE, Unread, UnreadError, need
from hostagent.domains.driver.read_driver import parse_cuda_version
from hostagent.facts.cuda import Cuda, CudaToolkit
from hostagent.facts.packages import Packages
from hostagent.host.source import Source

_FOLDER, _DEFAULT = "/usr/local", "/usr/local/cuda"
_NAME = re.compile(r"cuda(?:-[0-9][0-9.]{0,15})?")
_OLD = re.compile(r"CUDA Version (\d+(?:\.\d+)+)")
_MINOR = re.compile(r"/cuda-(\d+)\.(\d+)$")
#: Toolkits; no real host has as many.
_MOST = 64
#: Of a version file; a real one has 3 KiB.
_LIMIT = 64 * KIB


def read_cuda(source: Source, known: Callable[[type], Any]) -> Cuda:
    places = _places(source)
    if isinstance(places, Unread):
        return Cuda(places, places)
    packages = known(Packages)
    toolkits = (
        CudaToolkit(path, _version(source, path, packages), _compiler(source, path), tuple(sorted(names)))
        for path, names in sorted(places.items())
    )
    return Cuda(tuple(toolkits), next((path for path, names in places.items() if _DEFAULT in names), ""))


@stops_at_unread
def _places(source: Source) -> dict[str, list[str]]:
    """Folders, links resolved, with the names that lead there; without dangling links."""
    names = [name for name in need(source.listdir(_FOLDER, absent=())) if _NAME.fullmatch(name)]
    if len(names) > _MOST:
        raise UnreadError(Unread("error", f"found {len(names)} CUDA toolkits below {_FOLDER}, wanted at most {_MOST}"))
    found: dict[str, list[str]] = {}
    for name in names:
        path = f"{_FOLDER}/{name}"
        stat = source.stat(path)
        if isinstance(stat, Unread):
            if stat.why not in NOT_THERE:
                raise UnreadError(stat)
        elif stat.kind == "dir":
            found.setdefault(need(source.realpath(path)), []).append(path)
    return found


def _compiler(source: Source, path: str) -> "bool | Unread":
    stat = source.stat(f"{path}/bin/nvcc")
    if isinstance(stat, Unread):
        return False if stat.why in NOT_THERE else stat
    return stat.kind == "file" and bool(stat.mode & 0o111)


def _version(source: Source, path: str, packages: "Packages | Unread") -> "str | Unread":
    """The version in its own file, else of its package."""
    in_file = _file_version(source, path)
    in_package = _package_version(path, packages) if isinstance(in_file, Unread) else ""
    return in_package or in_file


def _file_version(source: Source, path: str) -> "str | Unread":
    text = source.text(f"{path}/version.json", _LIMIT, keep=Keep("json", ("cuda/version",)))
    if not isinstance(text, Unread):
        return parse_cuda_version(text, f"{path}/version.json")
    if text.why not in NOT_THERE:
        return text
    old = source.text(f"{path}/version.txt", _LIMIT, keep=Keep("head", ("40",)))
    if isinstance(old, Unread):
        return Unread("absent", f"{path} has no version.json", old.question) if old.why in NOT_THERE else old
    match = _OLD.match(old)
    return match[1] if match else Unread("error", f"{path}/version.txt: found {old[:40]!r}")


def _package_version(path: str, packages: "Packages | Unread") -> str:
    """The version of its meta package, else the compiler package's, which has its first two fields."""
    minor = _MINOR.search(path)
    if not minor or isinstance(packages, Unread) or isinstance(packages.installed, Unread):
        return ""
    installed = {one.name: one.upstream for one in packages.installed if one.state == "installed" and not isinstance(one.upstream, Unread)}
    whole = installed.get(f"cuda-toolkit-{minor[1]}-{minor[2]}", "")
    compiler = installed.get(f"cuda-nvcc-{minor[1]}-{minor[2]}", "")
    return whole or ".".join(compiler.split(".")[:2])
