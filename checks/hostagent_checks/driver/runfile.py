"""The driver was installed by NVIDIA's .run file: no package manager knows it, and none can upgrade it.

It works. But no update reaches it, a new kernel gets a module only where DKMS was asked for, and packages that are
installed later mix with it (see `driver.library_owner`). If somebody else makes the whole image, as on AKS, it is theirs
to change. A container (LXC, Incus) has its host's module, and its libraries must have that version, wherever they come from.
"""

from hostagent.check import Findings, Step, check, fail, first_of, need, skip
from hostagent.domains.driver.owned import image_of
from hostagent.facts.driver import Driver
from hostagent.facts.platform import Platform


@check(
    title="The driver comes from packages",
    severity="warning",
    since="0.1",
    headline="The driver comes from a .run file, not from packages",
    remedy=(
        Step("install", "At the next maintenance, remove the .run installation.", command="nvidia-uninstall"),
        Step("install", "Install the driver from packages."),
        Step("reboot", "Reboot the node."),
    ),
    references=("NVIDIA driver README, chapter Installing the NVIDIA Driver",),
    confirm=("ls -l /usr/bin/nvidia-uninstall /usr/bin/nvidia-installer /var/log/nvidia-installer.log",),
)
def runfile(driver: Driver, platform: Platform) -> Findings:
    traces = need(driver.runfile_traces)
    if traces:
        if owner := image_of(platform, platform.driver):
            skip(f"{owner} provides the driver in its own way")
        if platform.in_container:
            skip("this is a container, and its libraries follow its host's module")
        yield fail(
            "a .run file installed the driver, not a package", code="runfile", found=first_of(traces), wanted="packages", evidence=traces
        )
