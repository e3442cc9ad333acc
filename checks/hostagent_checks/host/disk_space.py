"""The root, /usr or /var filesystem is nearly full: the next driver build or image pull fails half-way.

A driver with its DKMS build needs about 2.5 GB on /usr and /var. A package manager that runs out of space leaves packages
half-configured, and the module of the next kernel is not built.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, Unread, check, fail, need, size
from hostagent.domains.packages.commands import program_of
from hostagent.facts.host import Storage
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages

_PLACES = ("/", "/usr", "/var")


class Params(NamedTuple):
    """min_free_bytes: bytes that must be free on each of /, /usr and /var"""

    min_free_bytes: int = 2_500_000_000


@check(
    title="The system's filesystems have room for a driver installation",
    severity="warning",
    since="0.1",
    because=("host.volumes",),
    headline="A filesystem has no room for a driver installation",
    remedy=(Step("configure", "Free space: package caches, old kernels, unused container images, the journal."),),
    references=("statvfs(3)", "NVIDIA Driver Installation Guide, pre-installation actions"),
    confirm=("df -h / /usr /var",),
)
def disk_space(storage: Storage, packages: Packages | Unread, os: Os | Unread, params: Params) -> Findings:
    wanted = params.min_free_bytes
    for one in need(storage.filesystems):
        if any(place in one.holds for place in _PLACES) and need(one.free_bytes) < wanted:
            found, least = f"{_less(need(one.free_bytes), wanted)} free", f">= {size(wanted)}"
            program = program_of(packages, os)
            clean = {"zypper": "zypper clean --all", "apt-get": "apt-get clean"}.get(program, f"{program} clean all" if program else "")
            steps = (Step("configure", "Free space: package caches, old kernels, container images, the journal.", clean),)
            yield fail(f"{one.path} has {found}", code="full", found=found, wanted=least, remedy=steps)


def _less(free: int, wanted: int) -> str:
    """Less than `wanted` is printed as less, also where both have the same rounded size."""
    return f"less than {size(free)}" if size(free) == size(wanted) else size(free)
