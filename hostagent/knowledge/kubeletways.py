"""How the kubelet's configuration is changed where it is not a file of the host: by platform; and what else differs there.

Sources (read 2026-11): GKE, "Customizing node system configuration"; AKS, "Customize node configuration for AKS node pools"; Amazon EKS,
nodeadm's NodeConfig (awslabs/amazon-eks-ami, nodeadm/doc); Bottlerocket settings reference, settings.kubernetes; Talos Linux,
machine.kubelet.extraConfig; OpenShift, KubeletConfig of machineconfiguration.openshift.io/v1; kubernetes.io, "Control CPU Management
Policies on the Node" (which changes need another cpu_manager_state).
"""

from collections.abc import Mapping

#: By the name that `hostagent.knowledge.platforms` gives the platform.
CONFIGURED_BY: Mapping[str, str] = {
    "GKE node": "Set these fields in the node system configuration of this node's pool (kubeletConfig): GKE then makes the nodes anew.",
    "AKS node image": "Make a node pool with these fields in its custom node configuration (--kubelet-config).",
    "EKS AMI": "Set these fields in nodeadm's NodeConfig (spec.kubelet.config) in the node group's launch template, and replace the node.",
    "Bottlerocket": "Set these fields in the node's settings (settings.kubernetes), and replace the node.",
    "Talos Linux": "Set these fields in machine.kubelet.extraConfig of the machine configuration.",
    "Red Hat CoreOS": "Set these fields in a KubeletConfig object for the node's machine config pool.",
}
#: Options of the static CPU policy with which a kubelet refuses the CPUs that its state file says are free.
CPU_STATE_OPTIONS = ("strict-cpu-reservation",)
#: Where a kubelet keeps its state files, by its unit, where that is not /var/lib/kubelet.
STATE_DIRECTORY: Mapping[str, str] = {
    "snap.microk8s.daemon-kubelite": "/var/snap/microk8s/common/var/lib/kubelet",
    "snap.microk8s.daemon-kubelet": "/var/snap/microk8s/common/var/lib/kubelet",
    "k0sworker": "/var/lib/k0s/kubelet",
    "k0scontroller": "/var/lib/k0s/kubelet",
}
