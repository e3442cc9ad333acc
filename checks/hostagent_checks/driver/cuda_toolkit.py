"""The CUDA toolkit below /usr/local/cuda is not the one that the profile asks for: builds and host programs use another."""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.packages.commands import install
from hostagent.facts.driver import Driver
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.version import parse_constraints, satisfies, upstream
from hostagent.profile import Profile


@check(
    title="The CUDA toolkit is the version that the profile asks for",
    severity="critical",
    since="0.1",
    headline="The CUDA toolkit is {found}, the profile asks for {wanted}",
    remedy=(Step("install", "Install that CUDA toolkit, or point /usr/local/cuda at it."),),
    references=("CUDA Installation Guide for Linux, section Package Manager Metas",),
    confirm=(
        "ls -ld /usr/local/cuda*",
        "/usr/local/cuda/bin/nvcc --version",
    ),
)
def cuda_toolkit(driver: Driver, packages: Packages | Unread, os: Os | Unread, profile: Profile) -> Findings:
    wanted = profile.cuda.toolkit
    if not wanted:
        skip("the profile asks for no CUDA toolkit")
    found = need(driver.cuda_toolkit_version)
    if not found:
        steps = _steps(wanted, packages, os)
        headline = "There is no CUDA toolkit, the profile asks for {wanted}"
        yield fail(
            f"there is no CUDA toolkit at /usr/local/cuda, the profile asks for {wanted}",
            code="missing",
            found="none",
            wanted=wanted,
            remedy=steps,
            headline=headline,
        )
    elif not satisfies(need(upstream(found)), wanted):
        steps = _steps(wanted, packages, os)
        text = f"/usr/local/cuda is CUDA toolkit {found}, the profile asks for {wanted}"
        yield fail(text, code="other-version", found=found, wanted=wanted, remedy=steps)


def _steps(wanted: str, packages: Packages | Unread, os: Os | Unread) -> tuple[Step, ...]:
    """Packages of it have the first two fields of the version in their name."""
    lowest = next((one.version for one in parse_constraints(wanted) if one.operator != "<"), "")
    fields = lowest.partition("~")[0].split(".")[:2]
    if len(fields) < 2 or not all(field.isdecimal() for field in fields):
        return ()
    command = install(packages, os, (f"cuda-toolkit-{'-'.join(fields)}",))
    return (Step("install", f"Install CUDA toolkit {'.'.join(fields)}, or point /usr/local/cuda at it.", command),)
