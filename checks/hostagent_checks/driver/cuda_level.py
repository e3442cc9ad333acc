"""The driver is too old for the CUDA toolkit that the profile asks for: programs built with it do not start.

A driver runs every CUDA of its own major version and older. Of its own major version but a later minor one, programs run
by minor-version compatibility: what needs the newer driver's compiler (PTX) or new interfaces fails then.
"""

from hostagent.check import NOT_THERE, Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.core.tables.recovery_actions import REBOOT
from hostagent.domains.driver.tables.releases import cuda_level as level_of_branch
from hostagent.domains.driver.tables.releases import first_branch_for
from hostagent.facts.driver import Driver
from hostagent.facts.kernel import Kernel
from hostagent.facts.version import branch, parse_constraints
from hostagent.profile import Profile

from ._module import module_version


@check(
    title="The driver runs the CUDA version that the profile asks for",
    severity="critical",
    since="0.1",
    explains=("gpu",),
    because=("driver.version",),
    headline="The driver runs CUDA {found}, the profile asks for {wanted}",
    remedy=(
        Step("install", "Install a driver branch that runs this CUDA."),
        REBOOT,
    ),
    references=("CUDA Compatibility", "CUDA Toolkit Release Notes, table of driver versions"),
    confirm=("nvidia-smi  # 'CUDA Version' is the newest that this driver runs",),
)
def cuda_level(driver: Driver, kernel: Kernel, profile: Profile) -> Findings:
    if not profile.cuda.toolkit:
        skip("the profile asks for no CUDA toolkit")
    lowest = next((one.version for one in parse_constraints(profile.cuda.toolkit) if one.operator != "<"), "0")
    wanted = tuple(int(part) for part in lowest.partition("~")[0].split("."))[:2]
    told = driver.cuda_driver_version
    text = level_of_branch(branch(module_version(driver, kernel))) if isinstance(told, Unread) else told
    found = tuple(int(part) for part in text.split(".") if part.isdecimal())[:2]
    if not found:
        need(told if isinstance(told, Unread) and told.why not in NOT_THERE else Unread("error", "this driver's CUDA level is not known"))
    if found[0] < wanted[0]:
        yield fail(
            f"the driver runs CUDA {text}, the profile asks for {profile.cuda.toolkit}",
            code="too-old",
            found=text,
            wanted=profile.cuda.toolkit,
            remedy=_steps(wanted),
        )
    elif found < wanted:
        yield warn(
            f"the driver runs CUDA {text}, the profile asks for {profile.cuda.toolkit}: only minor-version compatibility is left",
            code="minor",
            found=text,
            wanted=profile.cuda.toolkit,
            remedy=_steps(wanted),
        )


def _steps(wanted: tuple[int, ...]) -> tuple[Step, ...]:
    """The first branch that runs it; () for a CUDA that no known branch runs."""
    first = first_branch_for(wanted)
    text = f"Install driver branch {first} or newer: it runs CUDA {'.'.join(map(str, wanted))}."
    return (Step("install", text), REBOOT) if first else ()
