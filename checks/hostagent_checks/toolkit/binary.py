"""A program of the toolkit is missing or cannot be executed: the package database says installed, the disk does not.

This is what remains after an image build that copied the package database without the files, by a removed file, or by a copy without
its permission bits. Runtimes then fail with "executable file not found" when the first GPU container starts.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.packages.commands import reinstall
from hostagent.domains.packages.tables.names import TOOLKIT_BASE
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.toolkit import Toolkit
from hostagent.profile import Profile

from ._host import skip_unneeded

_USUAL = "/usr/bin"
_NEEDED = ("nvidia-container-runtime", "nvidia-ctk")


@check(
    title="The toolkit's programs are on disk and can be executed",
    severity="critical",
    since="0.1",
    because=("toolkit.installed",),
    headline="A program of the toolkit is missing or cannot be executed",
    remedy=(Step("install", "Reinstall nvidia-container-toolkit-base."),),
    references=("NVIDIA Container Toolkit, packaging: nvidia-container-toolkit-base",),
    confirm=(
        "ls -l /usr/bin/nvidia-ctk /usr/bin/nvidia-container-runtime",
        "nvidia-ctk --version",
    ),
)
def binary(toolkit: Toolkit, packages: Packages | Unread, os: Os | Unread, profile: Profile) -> Findings:
    skip_unneeded(profile)
    binaries = dict(need(toolkit.binaries))
    if not binaries and not need(toolkit.packages):
        skip("the toolkit is not installed")
    folder = next((path.rpartition("/")[0] for path in binaries), _USUAL)
    for name in _NEEDED:
        path = next((one for one in binaries if one.endswith(f"/{name}")), f"{folder}/{name}")
        if not binaries.get(path, False):
            found = "not executable" if path in binaries else "missing"
            steps = (Step("install", f"Reinstall {TOOLKIT_BASE}.", reinstall(packages, os, (TOOLKIT_BASE,))),)
            yield fail(f"{path} is {found}", code=found.replace(" ", "-"), found=found, wanted="an executable file", remedy=steps)
