"""A package of the driver, CUDA or the toolkit is not fully installed: its last installation stopped half-way.

Most often the kernel module did not build, and dpkg left the package half-configured (iF) with others waiting for it (iU). Files
of two versions may lie side by side. Package managers refuse further work until it is resolved, and `dpkg --audit` and
`apt-get check` end with success nevertheless.
"""

from hostagent.check import Findings, Step, check, fail, need, skip
from hostagent.facts.packages import Packages

_FAMILIES = ("cuda", "libcuda", "libnvidia", "libnvsdm", "linux-modules-nvidia", "linux-objects-nvidia", "nvidia", "nvlsm")


@check(
    title="Every NVIDIA package is fully installed",
    severity="warning",
    since="0.1",
    because=("driver.package_interrupted",),
    headline="An NVIDIA package is not fully installed",
    remedy=(
        Step("install", "Finish the installation; make.log below /var/lib/dkms says why a build fails.", command="dpkg --configure -a"),
    ),
    references=("dpkg(1), section Package states", "NVIDIA open-gpu-kernel-modules issues 441, 468"),
    confirm=(
        "dpkg --audit",
        "dpkg -l '*nvidia*'  # lines that begin with neither ii, hi nor un",
    ),
)
def package_state(packages: Packages) -> Findings:
    ours = [one for one in need(packages.installed) if one.name.startswith(_FAMILIES)]
    if not ours:
        skip("no NVIDIA package is installed")
    for one in ours:
        if one.state != "installed":
            yield fail(f"{one.name} is {one.state}", code="not-installed", found=one.state, wanted="installed")
