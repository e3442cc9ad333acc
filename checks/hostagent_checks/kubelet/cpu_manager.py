"""No container has CPUs of its own: the threads of a job move over all CPUs, far from its GPUs too, and share them with other pods.

Without the static CPU manager the topology manager gets no word about CPUs, so it aligns GPUs and NICs alone. The static one gives
CPUs to containers of Guaranteed pods that ask for whole CPUs, and needs CPUs that are reserved for the system. A job that takes the whole
host loses little; where the profile declares pods that take a part of it (sub_node), it counts.
"""

from hostagent.check import Findings, Step, check, fail, need
from hostagent.facts.kubelet import Kubelet
from hostagent.profile import Profile

from ._host import accepted, without_state

_SET = Step("configure", "Set cpuManagerPolicy to static, and reserve CPUs by reservedSystemCPUs.")


@check(
    title="The kubelet gives containers CPUs of their own",
    severity="info",
    since="0.1",
    headline="The kubelet gives no container CPUs of its own",
    remedy=(_SET, Step("restart_service", "Drain the node, and start the kubelet without its cpu_manager_state.")),
    references=("Kubernetes, Control CPU Management Policies on the Node",),
    confirm=("grep -n -i cpuManagerPolicy /var/lib/kubelet/config.yaml", "cat /var/lib/kubelet/cpu_manager_state"),
)
def cpu_manager(kubelet: Kubelet, profile: Profile) -> Findings:
    found = need(accepted(kubelet).cpu_manager_policy)
    if found != "static":
        yield fail(
            f"cpuManagerPolicy is {found}",
            code="not-static",
            found=found,
            wanted="static",
            remedy=(_SET, without_state(kubelet, "cpu_manager_state")),
            at_least="warning" if "sub_node" in profile.pods else None,
        )
