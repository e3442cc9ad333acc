"""The nvidia runtime names a program that is not there: containers fail with "no such file or directory".

It happens when the toolkit was removed or moved and the runtime's configuration stayed, or when the GPU Operator's copy below
/usr/local/nvidia/toolkit went away with its DaemonSet.
"""

from hostagent.check import Findings, check, fail, need
from hostagent.facts.runtime import Launchers, Runtime
from hostagent.profile import Profile

from ._choice import nvidia_handlers, skip_unserving


@check(
    title="The program of each NVIDIA runtime entry is there",
    severity="critical",
    since="0.1",
    remedy="Install the toolkit again, or correct the path where the entry is written (a file, a flag of the daemon); restart the runtime.",
    references=("NVIDIA Container Toolkit, Installation Guide: configuring containerd",),
)
def handler_binary(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    for handler in nvidia_handlers(runtime):
        if not need(handler.binary_exists):
            found = handler.binary or "no BinaryName"
            yield fail(f"the program of {handler.name} is missing", code="missing", found=found, wanted="an installed program")
