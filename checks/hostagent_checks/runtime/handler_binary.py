"""The nvidia runtime names a program that is not there: containers fail with "no such file or directory".

It happens when the toolkit was removed or moved and the runtime's configuration stayed, or when the GPU Operator's copy below
/usr/local/nvidia/toolkit went away with its DaemonSet. The entry that jobs get (the one called nvidia, the default, or the only one)
must have its program; any other entry affects only containers that ask for it by name. MicroK8s writes such an entry on every node.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, warn
from hostagent.domains.packages.commands import reinstall
from hostagent.domains.packages.tables.names import TOOLKIT_PACKAGES
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.domains.runtime.tables.versions import TEMPLATE_ENTRIES
from hostagent.facts.os import Os
from hostagent.facts.packages import Packages
from hostagent.facts.runtime import Handler, Runtime

from ._choice import nvidia_handlers, skip_unserving
from ._steps import restart


@check(
    title="The program of each NVIDIA runtime entry exists",
    severity="critical",
    since="0.1",
    because=("toolkit.installed", "toolkit.binary"),
    headline="The program of an NVIDIA runtime entry of {device} does not exist",
    remedy=(
        Step("install", "Install the toolkit again, or correct the path in the runtime's configuration."),
        Step("restart_service", "Restart the runtime."),
    ),
    references=("NVIDIA Container Toolkit, Installation Guide: configuring containerd",),
    confirm=(
        "containerd config dump | grep -n BinaryName",
        "docker info --format '{{json .Runtimes}}'",
    ),
)
def handler_binary(runtime: Runtime, choice: RuntimeChoice, packages: Packages | Unread, os: Os | Unread) -> Findings:
    skip_unserving(runtime, choice)
    entries = nvidia_handlers(runtime)
    for handler in entries:
        if not need(handler.binary_exists):
            alone = handler.name == "nvidia" or not any(_works(one) for one in entries)
            chosen = alone or handler.name == need(runtime.default_runtime)
            if not chosen and (runtime.key, handler.name) in TEMPLATE_ENTRIES:
                continue
            report = fail if chosen else warn
            found = handler.binary or "no BinaryName"
            command = reinstall(packages, os, TOOLKIT_PACKAGES) if found.startswith("/usr/bin/") else ""
            steps = (Step("install", f"Install {found} again, or correct its path in {runtime.key}.", command), restart(runtime))
            text = f"the program of the entry {handler.name} does not exist: {found}"
            yield report(text, code="missing", found=found, wanted="an installed program", remedy=steps)


def _works(handler: Handler) -> bool:
    return handler.binary_exists is True
