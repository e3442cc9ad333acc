"""The filesystem of /, /usr or /var is nearly full: the next driver build or image pull fails half-way.

A driver with its DKMS build needs about 2.5 GB on /usr and /var. A package manager that runs out of space leaves packages
half-configured, and the module of the next kernel is not built.
"""

from typing import NamedTuple

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.host import Machine

_PLACES = ("/", "/usr", "/var")


class Params(NamedTuple):
    """min_free_bytes: bytes that must be free on each of /, /usr and /var"""

    min_free_bytes: int = 2_500_000_000


@check(
    title="The system's filesystems have room for a driver installation",
    severity="warning",
    since="0.1",
    headline="A filesystem has no room for a driver installation",
    remedy=(Step("configure", "Free space: old kernels, 'apt-get clean' or 'dnf clean all', unused container images, the journal."),),
    references=("statvfs(3)", "NVIDIA Driver Installation Guide, pre-installation actions"),
    confirm=("df -h / /usr /var",),
)
def disk_space(machine: Machine, params: Params) -> Findings:
    wanted = params.min_free_bytes
    for one in need(machine.filesystems):
        if any(place in one.holds for place in _PLACES) and need(one.free_bytes) < wanted:
            yield fail(f"{one.path} is nearly full", code="full", found=need(one.free_bytes), wanted=f">= {wanted}")
