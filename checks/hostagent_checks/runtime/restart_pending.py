"""The runtime runs with an older configuration than the one on disk: what these checks read has no effect yet.

containerd and CRI-O read their configuration as they start; a reload signal does not change runtime entries. Docker can reload some
of it, so there it is only a warning that a reload or a restart may be due. Restarting containerd keeps containers running;
restarting Docker stops them unless live-restore is set.
"""

from hostagent.check import Findings, Step, check, fail, need, warn
from hostagent.domains.runtime.serving import RuntimeChoice
from hostagent.facts.runtime import Runtime

from ._choice import skip_unserving
from ._steps import restart

#: A process' start is told from the boot's second (btime of proc_stat(5)): k3s starts containerd in the second in which it writes its file.
_START_IS_EXACT_TO_S = 1


@check(
    title="The runtime started after its configuration last changed",
    severity="warning",
    since="0.1",
    headline="{device} runs with an older configuration than the one on disk",
    remedy=(Step("restart_service", "Restart the runtime."),),
    references=(
        "containerd, Getting started",
        "Docker Engine, Live restore",
    ),
    confirm=(
        "systemctl show -p ActiveEnterTimestamp containerd docker crio",
        "ls -lt --full-time /etc/containerd /etc/docker /etc/crio",
    ),
)
def restart_pending(runtime: Runtime, choice: RuntimeChoice) -> Findings:
    skip_unserving(runtime, choice)
    started = need(runtime.started_at)
    changed = need(runtime.newest_config_mtime)
    if started + _START_IS_EXACT_TO_S < changed:
        found = "started before its configuration changed"
        steps = (restart(runtime),)
        say = warn if runtime.kind == "docker" else fail
        yield say(
            f"{runtime.key} started before its configuration changed", code="pending", found=found, wanted="started after it", remedy=steps
        )
