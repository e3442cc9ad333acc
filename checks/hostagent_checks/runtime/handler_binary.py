"""The nvidia runtime names a program that is not there: containers fail with "no such file or directory".

It happens when the toolkit was removed or moved and the runtime's configuration stayed, or when the GPU Operator's copy below
/usr/local/nvidia/toolkit went away with its DaemonSet. The entry that jobs get (the one called nvidia, the default, or the only one)
must have its program; another entry fails only the jobs that ask for it by name. MicroK8s writes such an entry on every node.
"""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.facts.runtime import Handler, Launchers, Runtime
from hostagent.knowledge.runtimes import TEMPLATE_ENTRIES
from hostagent.profile import Profile

from ._choice import nvidia_handlers, skip_unserving


@check(
    title="The program of each NVIDIA runtime entry is there",
    severity="critical",
    since="0.1",
    because=("toolkit.installed", "toolkit.binary"),
    headline="The program of an NVIDIA runtime entry of {device} does not exist",
    remedy=(
        Step("install", "Install the toolkit again, or correct the path where the entry is written (a file, a flag of the daemon)."),
        Step("restart_service", "Restart the runtime."),
    ),
    references=("NVIDIA Container Toolkit, Installation Guide: configuring containerd",),
    confirm=(
        "containerd config dump | grep -n BinaryName",
        "docker info --format '{{json .Runtimes}}'",
    ),
)
def handler_binary(runtime: Runtime, runtimes: tuple[Runtime, ...], launchers: Launchers, profile: Profile) -> Findings:
    skip_unserving(runtime, runtimes, launchers, profile)
    entries = nvidia_handlers(runtime)
    for handler in entries:
        if not need(handler.binary_exists):
            alone = handler.name == "nvidia" or not any(_works(one) for one in entries)
            chosen = alone or handler.name == need(runtime.default_runtime)
            if not chosen and (runtime.key, handler.name) in TEMPLATE_ENTRIES:
                continue
            report = fail if chosen else warn
            found = handler.binary or "no BinaryName"
            yield report(f"the program of {handler.name} is missing", code="missing", found=found, wanted="an installed program")


def _works(handler: Handler) -> bool:
    return handler.binary_exists is True
