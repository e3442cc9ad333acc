"""The kubelet runs with an older configuration than the one on disk: what these checks read has no effect yet.

A kubelet reads its file, its drop-ins and its flags as it starts, and nothing afterwards. What it runs with shows at its address
configz; where the profile names that (kubelet.configz), its answer is compared. Else the time at which it started is compared
with that of its files. A restart ends no pod, unless the policy of the CPU or memory manager has changed.
"""

from hostagent.check import Findings, Step, Unread, check, fail, first_of, need, skip
from hostagent.facts.kubelet import Kubelet
from hostagent.profile import Profile

from ._host import restart, skip_without, started_before_its_files


@check(
    title="The kubelet started after its configuration last changed",
    severity="warning",
    since="0.1",
    because=("kubelet.config_accepted",),
    headline="The kubelet runs with an older configuration than the one on disk",
    remedy=(Step("restart_service", "Restart the kubelet.", "systemctl restart kubelet"),),
    references=("Kubernetes, Set Kubelet Parameters Via A Configuration File",),
    confirm=("systemctl show -p ActiveEnterTimestamp kubelet", "ls -lt --full-time /var/lib/kubelet/config.yaml /etc/kubernetes"),
)
def restart_pending(kubelet: Kubelet, profile: Profile) -> Findings:
    skip_without(kubelet)
    if not need(kubelet.runs):
        skip("the kubelet does not run")
    differs = need(kubelet.configz_differs) if profile.kubelet.configz.address else kubelet.configz_differs
    if isinstance(differs, Unread):
        if started_before_its_files(kubelet):
            found = "started before its configuration changed"
            yield fail(f"the kubelet {found}", code="pending", found=found, wanted="started after it", remedy=(restart(kubelet),))
    elif differs:
        names = first_of(differs)
        text = f"the kubelet runs with other values than its files have: {names}"
        yield fail(text, code="differs", found=names, wanted="no difference", remedy=(restart(kubelet),))
