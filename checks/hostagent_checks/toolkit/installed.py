"""The NVIDIA Container Toolkit is missing or incomplete: no container on this host gets a GPU.

Runtimes reach GPUs through the toolkit's programs, as a runtime called nvidia or through CDI specifications that its base
package writes. A host that uses CDI alone needs the base package and no other; all else needs the four packages.
Where a profile says that a container (the GPU Operator) owns the toolkit, or that the host runs no containers, it needs none; nor where
GPUs reach containers in other ways alone: by a provider's mounts, the DRA driver or Apptainer. ``toolkit.required`` of the profile says
always or never instead.
"""

from collections.abc import Sequence

from hostagent.check import Findings, Step, Unread, check, fail, need, skip, warn
from hostagent.domains.packages.commands import install
from hostagent.domains.packages.tables.names import TOOLKIT_BASE, TOOLKIT_PACKAGES
from hostagent.domains.runtime.access import GpuAccess, reached_without
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.toolkit import Toolkit
from hostagent.profile import Profile

from ._host import skip_unneeded


@check(
    title="The NVIDIA Container Toolkit is installed",
    severity="critical",
    since="0.1",
    because=("gpu.present:none",),
    headline="The NVIDIA Container Toolkit is not installed",
    remedy=(Step("install", "Install the NVIDIA Container Toolkit from NVIDIA's repository."),),
    references=("NVIDIA Container Toolkit, Installing the NVIDIA Container Toolkit",),
    confirm=(
        "dpkg -l '*nvidia-container*'  # Debian, Ubuntu",
        "rpm -qa '*nvidia-container*'  # RHEL, SUSE",
    ),
)
def installed(
    toolkit: Toolkit, choice: RuntimeChoice, access: GpuAccess, database: Packages | Unread, os: Os | Unread, profile: Profile
) -> Findings:
    skip_unneeded(profile)
    packages = need(toolkit.packages)
    if not packages and need(toolkit.operator_version):
        skip("the GPU Operator owns the toolkit; toolkit.operator_owner checks that")
    if not packages and not need(toolkit.binaries):
        _skip_unused(choice, access)
        steps = _steps(TOOLKIT_PACKAGES[2:3], "", database, os)
        yield fail(
            "neither packages nor programs of the toolkit are installed",
            code="not-installed",
            found="no package and no program of it",
            wanted="installed",
            remedy=steps,
        )
    missing = [name for name in TOOLKIT_PACKAGES if packages and all(one.name != name for one in packages)]
    if TOOLKIT_BASE in missing:
        steps = _steps([TOOLKIT_BASE], _version(toolkit), database, os)
        yield fail(
            "the toolkit's programs are not installed", code="no-base", found=f"no {TOOLKIT_BASE}", wanted=TOOLKIT_BASE, remedy=steps
        )
    elif missing and profile.runtime.access != "cdi":
        steps = _steps(missing, _version(toolkit), database, os)
        text, headline = f"the toolkit lacks {', '.join(missing)}", "The NVIDIA Container Toolkit is not installed completely"
        found = f"no {', no '.join(missing)}"
        yield warn(text, code="incomplete", found=found, wanted="all four packages", remedy=steps, headline=headline)


def _version(toolkit: Toolkit) -> str:
    """That of the packages that are there: all four have one."""
    return "" if isinstance(toolkit.version, Unread) else toolkit.version


def _steps(names: Sequence[str], version: str, database: Packages | Unread, os: Os | Unread) -> tuple[Step, ...]:
    text = f"Install {', '.join(names)}{f' {version}' if version else ''} from NVIDIA's repository."
    return (Step("install", text, install(database, os, names, version)),)


def _skip_unused(choice: RuntimeChoice, access: GpuAccess) -> None:
    profile = choice.profile
    if profile.toolkit.required != "always" and (
        reason := reached_without(profile.runtime.kind, choice.runtimes, choice.launchers, access.cdi, access.toolkit)
    ):
        skip(reason)
