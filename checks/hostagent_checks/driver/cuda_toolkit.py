"""The CUDA toolkit below /usr/local/cuda is not the one that the profile asks for: builds and host programs use another."""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.driver import Driver
from hostagent.facts.version import satisfies, upstream
from hostagent.profile import Profile


@check(
    title="The CUDA toolkit is of the version the profile asks for",
    severity="critical",
    since="0.1",
    headline="The CUDA toolkit is {found}, the profile wants {wanted}",
    remedy=(Step("install", "Install the package cuda-toolkit-<major>-<minor>, or point /usr/local/cuda at the wanted version."),),
    references=("CUDA Installation Guide for Linux, section Package Manager Metas",),
    confirm=(
        "ls -ld /usr/local/cuda*",
        "/usr/local/cuda/bin/nvcc --version",
    ),
)
def cuda_toolkit(driver: Driver, profile: Profile) -> Findings:
    wanted = profile.cuda.toolkit
    if not wanted:
        skip("the profile asks for no CUDA toolkit")
    found = need(driver.cuda_toolkit_version)
    if not found:
        yield fail(f"no CUDA toolkit at /usr/local/cuda, profile wants {wanted}", code="missing", found="none", wanted=wanted)
    elif not satisfies(need(upstream(found)), wanted):
        yield fail(f"CUDA toolkit {found}, profile wants {wanted}", code="other-version", found=found, wanted=wanted)
