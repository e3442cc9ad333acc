"""The kubelet refuses its configuration: at its next start, or already now, it does not run and this host takes no pod.

A kubelet reads its file, its drop-ins and its flags once, as it starts. It ends with an error for a value of another type, for a
feature gate that its version no longer has, for a policy or an option that it does not know, and for reservations that do not add
up (reservedMemory against kubeReserved, systemReserved and evictionHard). A field that it does not know it logs and ignores. With
any topology policy but none it ends on a machine with more NUMA nodes than it allows: 8, unless max-allowable-numa-nodes says
more. Grace Hopper and Grace Blackwell hosts have more, because the memory of their GPUs are nodes. It also ends where
cpu_manager_state or memory_manager_state is of another policy, or of CPUs that are gone: a changed policy needs a drained node
and the file removed.

A kubelet that runs goes on with what it read at its start: there it is a warning. One that does not run takes no pod: there it is
critical. A host that has not joined its cluster has neither the file nor credentials yet: an image, or a host that the package of the
kubelet was installed on and that is no worker.
"""

from hostagent.check import Findings, Step, Unread, check, fail, need, skip
from hostagent.domains.kubelet.joined import has_credentials, lacks_its_file
from hostagent.facts.kubelet import Kubelet

from ._host import is_stopped, restart, without_state

#: Of the error about more NUMA nodes than the topology manager takes.
_MANY_NODES = "NUMA Nodes"
_ALLOW = Step("configure", "Set max-allowable-numa-nodes in topologyManagerPolicyOptions, or the policy none.")
_CORRECT = Step("configure", "Correct what the error names.")
_JOIN = (
    Step("configure", "Join the host to its cluster, which writes the file."),
    Step("restart_service", "Start the kubelet again."),
)


@check(
    title="The kubelet accepts its configuration",
    severity="warning",
    since="0.1",
    headline="The kubelet refuses its configuration",
    remedy=(
        _CORRECT,
        Step("restart_service", "Restart the kubelet.", "systemctl restart kubelet"),
    ),
    references=(
        "Kubernetes, Set Kubelet Parameters Via A Configuration File",
        "Kubernetes, KubeletConfiguration",
        "Kubernetes, Control Topology Management Policies on a Node",
    ),
    confirm=("journalctl -b -u kubelet | grep -i 'command failed'", "systemctl cat kubelet"),
)
def config_accepted(kubelet: Kubelet) -> Findings:
    state = need(kubelet.state)
    if state == "absent":
        skip("this host has no kubelet")
    refused = need(kubelet.refused_state_files)
    if state != "rejected":
        return
    error = need(kubelet.error)
    stopped = is_stopped(kubelet)
    when = "refuses its configuration" if stopped else "runs, and would not start again"
    if lacks_its_file(kubelet) and stopped and not has_credentials(kubelet):
        yield fail(
            f"the kubelet has no configuration yet: {error}",
            code="not-joined",
            found=error,
            wanted="an accepted configuration",
            remedy=_JOIN,
            headline="The kubelet has no configuration yet",
            at_most="info" if isinstance(kubelet.runs, Unread) or kubelet.joined is False else "warning",
        )
        return
    if refused:
        steps = tuple(without_state(kubelet, file) for file in refused)
        headline = f"The kubelet refuses {refused[0]}" if stopped else f"The kubelet would refuse {refused[0]} at its next start"
    else:
        steps = (_ALLOW if _MANY_NODES in error else _CORRECT, restart(kubelet))
        headline = "" if stopped else "The kubelet runs, and would not start again"
    yield fail(
        f"the kubelet {when}: {error}",
        code="state-file" if refused else "rejected",
        found=error,
        wanted="an accepted configuration",
        remedy=steps,
        headline=headline,
        at_least="critical" if stopped else None,
    )
