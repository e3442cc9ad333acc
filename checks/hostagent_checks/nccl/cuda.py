"""A library of NCCL was built for a newer CUDA than the driver runs: jobs that load it end with a CUDA error.

Within one major version of CUDA a driver runs what is newer, too. From another major version on it does not, unless the job brings the
package for forward compatibility (cuda-compat), which works with data center GPUs.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.nccl import Nccl

from ._job import job


@check(
    title="The driver runs the CUDA that NCCL was built for",
    severity="warning",
    scope="fabric",
    since="0.1",
    explains=("gpu",),
    because=("driver.loaded", "driver.version"),
    headline="NCCL was built for CUDA {found}, the driver runs {wanted}",
    remedy=(
        Step("install", "Install the NCCL that was built for the driver's version of CUDA."),
        Step("install", "Or install a driver that runs the newer CUDA."),
    ),
    references=("CUDA Compatibility",),
    confirm=("nvidia-smi  # CUDA Version",),
)
def cuda(nccl: Nccl, driver: Driver | Unread) -> Findings:
    job(nccl)
    libraries = need(nccl.libraries)
    if not libraries:
        skip("the host has no library of NCCL")
    runs = need(need(driver).cuda_driver_version)
    newer = [one for one in libraries if _major(need(one.cuda)) > _major(runs)]
    if newer:
        found = ", ".join(dict.fromkeys(need(one.cuda) for one in newer))
        evidence = tuple(f"{one.path}: built for CUDA {need(one.cuda)}" for one in newer)
        yield fail(f"{newer[0].path} was built for CUDA {found}", code="newer", found=found, wanted=runs, evidence=evidence)


def _major(version: str) -> int:
    digits = version.partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 5 else 0
