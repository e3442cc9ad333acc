"""Questions that recordings of earlier releases cannot have, by the number of the set that added them."""

from collections.abc import Mapping

#: Patterns of whole questions as on a tape.
ADDED: Mapping[int, tuple[str, ...]] = {
    2: (
        r"run journalctl -b 0 .* _PID=1 MESSAGE_ID=[0-9a-f]{32}",
        r"stat /etc/kubernetes/kubelet\.conf|stat /var/lib/kubelet/kubeconfig|stat /etc/kubernetes/kubelet/kubeconfig",
        r"read /\S*/device-plugins/kubelet_internal_checkpoint",
    ),
}
