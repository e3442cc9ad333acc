"""Platforms that own parts of a GPU host: their marks, the places of the parts, and how their owner changes them.

Sources (read 2026-11): os-release of each image; awslabs/amazon-eks-ami (/etc/eks, nodeadm), Azure/AgentBaker (/opt/azure/containers),
GoogleCloudPlatform/container-engine-accelerators and cos_gpu_installer of cos/tools (installer below /home/kubernetes/bin/nvidia),
kubernetes/kubernetes (cluster/gce/gci), k3s, RKE2 and k0s documentation (configuration files), canonical/microk8s (args/kubelet),
bottlerocket-os/bottlerocket-kernel-kit (kmod-6.12-nvidia-r580.spec), siderolabs/extensions
(nvidia-gpu), flatcar/scripts (setup-nvidia) and flatcar/sysext-bakery, NVIDIA DGX OS user guide, NVIDIA GPU Operator (paths below
/run/nvidia and /usr/local/nvidia), Mellanox/network-operator (manifests/state-ofed-driver) and Mellanox/doca-driver-build (.driver-ready),
kubernetes/kubernetes, pkg/kubelet/kubelet_pods.go (the file of hosts), Docker and Podman (marks in containers), Microsoft WSL
(/dev/dxg, /usr/lib/wsl), NVIDIA Jetson Linux (/etc/nv_tegra_release),
systemd.exec(5) and systemd, src/basic/virt.c (/run/systemd/container), Linux kernel, include/linux/proc_ns.h.
"""

# Systems that are replaced as a whole have a remedy by name: GKE, Talos, Bottlerocket, Flatcar, Red Hat CoreOS. The GPU
# Operator's directory makes no place known; its version and mode are not read, because nothing uses them.

from collections.abc import Mapping
from typing import Literal, NamedTuple

from hostagent.core.vocabulary import Base, PartOwner

#: The Network Operator's driver container writes it once its modules are loaded.
OPERATORS_MARK = "/run/mellanox/drivers/.driver-ready"
#: The place of a part is not known to this release.
NOWHERE = "?"
#: Of the GPU Operator: the root of its driver container, which has the device nodes in its own /dev and the host none (NVIDIA/gpu-operator
#: issue 1741), and its toolkit.
OPERATOR_DRIVER, OPERATOR_TOOLKIT = "/run/nvidia/driver", "/usr/local/nvidia/toolkit"
#: Where systemd writes what contains it, and its values for containers with a system of their own.
CONTAINER_FILE, CONTAINERS = "/run/systemd/container", ("lxc", "lxc-libvirt", "systemd-nspawn", "incus", "openvz", "docker", "podman")
#: What Docker, Podman and CRI-O, and the kubelet leave in each container; and the first line of the file of hosts that the kubelet writes.
IN_CONTAINERS = (
    "/.dockerenv",
    "/run/.containerenv",
    "/run/secrets/kubernetes.io/serviceaccount",
    "/var/run/secrets/kubernetes.io/serviceaccount",
)
HOSTS_FILE, KUBELETS_HOSTS = "/etc/hosts", "# Kubernetes-managed hosts file"
#: The kernel's own number of the first namespace of process numbers (PROC_PID_INIT_INO): in a container process 1 is in another.
FIRST_NAMESPACE = "pid:[4026531836]"


class PlatformRow(NamedTuple):
    """A platform matches if all marks of the row match, and one of `paths` exists.

    Where many hosts have the id, it must be a file with content: other installations may leave a directory or an empty mark.
    """

    name: str
    base: Base
    ids: tuple[str, ...]  # os-release's ID
    paths: tuple[str, ...]
    kernel: str = ""  # a word in uname -r, instead of an id
    variant: str = ""  # os-release's VARIANT_ID
    vendor: str = ""  # DMI sys_vendor, where the board has one
    is_common: bool = False  # hosts of no platform have this id, too
    owner: PartOwner = "image"  # of the driver and its libraries
    others: PartOwner = "image"  # of the toolkit and the runtime's configuration
    gpus: str = ""  # NOWHERE where PCI does not show them
    kubelet: str = ""  # place of the kubelet's configuration, "" for the usual one
    kubelet_owner: PartOwner | Literal[""] = ""  # "" as `others`
    driver: str = ""  # place of the driver and its libraries, "" where the distribution puts them
    libraries: str = ""
    directories: tuple[str, ...] = ()  # of the libraries, below their place
    firmware: tuple[str, ...] = ()
    archives: tuple[str, str] = ("", "")  # of modules for DKMS, and the link that enables the unit which installs one at the first boot


_GKE, _COS, _TALOS = "/home/kubernetes/bin/nvidia", "/var/lib/nvidia", "/usr/local/glibc"
_BOTTLEROCKET = tuple(f"/{arch}-bottlerocket-linux-gnu" for arch in ("x86_64", "aarch64"))
_CLUSTER = "/home/kubernetes"
_OPENSHIFT = "/etc/kubernetes"
_OSTREE = ("/run/ostree-booted", "/sysroot/ostree/repo", "/ostree/repo")
_GOOGLE = PlatformRow(
    "GKE node", "managed", ("cos",), (_CLUSTER,), owner="provider", others="provider", kubelet=_CLUSTER,
    driver=_GKE, libraries=f"{_GKE}/lib64", directories=(f"{_GKE}/lib64",), firmware=(f"{_GKE}/firmware",),
)  # fmt: skip
#: The first match counts.
ROWS = (
    PlatformRow(
        "WSL2", "guest", (), ("/dev/dxg", "/usr/lib/wsl/lib"), kernel="microsoft", owner="provider", others="host",
        gpus=NOWHERE, driver=NOWHERE, libraries=NOWHERE,
    ),
    PlatformRow(
        "Jetson Linux", "host", (), ("/etc/nv_tegra_release",), kernel="tegra", others="host",
        gpus=NOWHERE, driver=NOWHERE, libraries=NOWHERE,
    ),
    _GOOGLE,
    _GOOGLE._replace(
        ids=("ubuntu",), vendor="Google", is_common=True,
        paths=tuple(f"{_CLUSTER}/{name}" for name in ("kubelet-config.yaml", "kube-env", "bin/configure-helper.sh", "bin/kubelet")),
    ),
    PlatformRow(
        "Container-Optimized OS", "managed", ("cos",), ("/mnt/stateful_partition", "/etc/cos-package-info.json", "/usr/bin/cos-extensions"),
        driver=_COS, libraries=f"{_COS}/lib64", directories=(f"{_COS}/lib64",), firmware=(f"{_COS}/firmware",),
    ),
    PlatformRow(
        "Bottlerocket", "managed", ("bottlerocket",), (*_BOTTLEROCKET, "/.bottlerocket", "/usr/share/bottlerocket", "/usr/bin/apiclient"),
        directories=tuple(f"{root}/sys-root/usr/lib/nvidia/tesla" for root in _BOTTLEROCKET), kubelet="/etc/kubernetes/kubelet",
    ),
    PlatformRow(
        "Talos Linux", "managed", ("talos",),
        ("/usr/local/lib/containers", "/usr/local/etc/containers", "/system", "/etc/cri/conf.d", _TALOS),
        libraries=_TALOS, directories=tuple(f"{_TALOS}/{name}" for name in ("usr/lib64", "usr/lib", "lib")), kubelet="/etc/kubernetes",
    ),
    PlatformRow(
        "Flatcar Container Linux", "managed", ("flatcar",), ("/usr/share/flatcar", "/usr/share/update_engine"),
        driver="/opt/nvidia", libraries="/opt/nvidia", directories=("/opt/nvidia/current/usr/lib64",),
        kubelet_owner="host",
    ),
    PlatformRow("Red Hat CoreOS", "managed", ("rhcos", "scos"), _OSTREE, kubelet=_OPENSHIFT),
    PlatformRow("Red Hat CoreOS", "managed", ("rhel", "centos"), _OSTREE, variant="coreos", kubelet=_OPENSHIFT),
    PlatformRow("CoreOS", "managed", ("fedora",), _OSTREE, variant="coreos", kubelet_owner="host"),
    # OpenShift 4.19 and later (openshift/enhancements, split-rhcos-into-layers): os-release is RHEL's; Ignition set it up
    PlatformRow("Red Hat CoreOS", "managed", ("rhel", "centos"), ("/etc/.ignition-result.json",), kubelet=_OPENSHIFT),
    PlatformRow("Ubuntu Core", "managed", ("ubuntu-core",), ("/writable", "/run/mnt/ubuntu-data", "/snap")),
    PlatformRow(
        "SUSE Linux Micro", "managed", ("sl-micro", "sle-micro"), ("/usr/sbin/transactional-update", "/.snapshots"),
        kubelet_owner="host",
    ),
    PlatformRow(
        "EKS AMI", "cloud-image", ("amzn", "ubuntu", "rhel"),
        (
            *(f"/etc/eks/{name}" for name in ("nvidia-kmod-load.sh", "setup-nvidia.sh", "bootstrap.sh", "release")),
            *("/usr/bin/nodeadm", "/etc/eks/image-credential-provider/config.json"),
        ),
        vendor="Amazon", is_common=True, kubelet="/etc/kubernetes/kubelet", kubelet_owner="provider",
        archives=("/var/lib/dkms-archive", "/etc/systemd/system/multi-user.target.wants/nvidia-kmod-load.service"),
    ),
    PlatformRow(
        "AKS node image", "cloud-image", ("ubuntu", "azurelinux", "mariner"),
        tuple(f"/opt/azure/containers/{name}.sh" for name in ("provision", "provision_source", "provision_installs", "provision_configs")),
        vendor="Microsoft", is_common=True, kubelet="/etc/default", kubelet_owner="provider",
    ),
    PlatformRow("DGX OS", "host", ("ubuntu",), ("/etc/dgx-release",), vendor="NVIDIA", is_common=True, owner="host", others="host"),
)  # fmt: skip

#: The kubelet's configuration of a Kubernetes distribution on an ordinary host.
KUBELET_PLACES = ("/etc/rancher/rke2", "/etc/rancher/k3s", "/var/snap/microk8s/current/args", "/etc/k0s")

#: How the owner of a part changes it: in place of a check's remedy that changes the host.
OWNERS_WAY: Mapping[str, tuple[str, ...]] = {
    "driver": (
        "Read the log of this node's nvidia-driver-daemonset pod: the GPU Operator provides the driver.",
        "Change spec.driver of the GPU Operator's ClusterPolicy, or restart that pod.",
    ),
    "toolkit": (
        "Change spec.toolkit of the ClusterPolicy: the GPU Operator provides the toolkit.",
        "Restart this node's nvidia-container-toolkit-daemonset pod.",
    ),
    "rdma": (
        "Read the log of this node's mofed pod: the Network Operator provides the RDMA drivers.",
        "Change spec.ofedDriver of the NicClusterPolicy, or restart that pod.",
    ),
    "runtime": (
        "Change spec.toolkit of the ClusterPolicy: the GPU Operator writes this configuration.",
        "Restart this node's nvidia-container-toolkit-daemonset pod.",
    ),
}
#: The owner of a part by the profile (``driver.owner``, ``toolkit.owner``), where the host does not show more.
OWNERS: Mapping[str, PartOwner] = {"container": "operator", "provider": "provider"}
#: Values of the profile where the host's own packages may provide the part.
HOSTS_OWN = ("host", "any")
#: Remedies for the administrator of a system that is replaced as a whole.
_WAYS: Mapping[str, tuple[str, ...]] = {
    "GKE node": (
        "Read the log of this node's nvidia-gpu-device-plugin pod: GKE provides this part.",
        "Choose another driver version for the node pool, or recreate the node.",
    ),
    "Container-Optimized OS": (
        "Run 'cos-extensions install gpu' again and reboot: Container-Optimized OS provides this part.",
        "If that does not help, take another image.",
    ),
    "Bottlerocket": (
        "Run 'apiclient update apply --reboot': Bottlerocket provides this part.",
        "If that does not help, replace the node with a newer version of its nvidia variant.",
    ),
    "Talos Linux": (
        "Choose the NVIDIA extensions in the image's schematic: Talos Linux provides this part.",
        "Run 'talosctl upgrade', and load the modules in machine.kernel.modules.",
    ),
    "Red Hat CoreOS": (
        "Read the log of this node's nvidia-driver-daemonset pod: the GPU Operator provides this part.",
        "Change the GPU Operator's ClusterPolicy; files of the system change by a MachineConfig.",
    ),
    "Flatcar Container Linux": (
        "Read 'journalctl -u nvidia': Flatcar provides this part.",
        "Choose the driver in /etc/flatcar/nvidia-metadata or its system extension.",
        "Run 'systemctl restart nvidia', or replace the node.",
    ),
}

#: Files that show a kubelet in a container of its own: Talos Linux writes its configuration on the host.
KUBELETS_IN_CONTAINERS: Mapping[str, str] = {"Talos Linux": "/etc/kubernetes/kubelet.yaml"}
#: The commands that show and start such a kubelet.
CONTAINED_KUBELET: Mapping[str, tuple[str, str]] = {"Talos Linux": ("talosctl service kubelet", "talosctl service kubelet restart")}
#: The cgroups of its container and of the runtime that starts it (siderolabs/talos, pkg/machinery/constants): its process, with a root
#: directory of its own, is not trusted.
KUBELET_CGROUPS: Mapping[str, tuple[str, str]] = {"Talos Linux": ("/sys/fs/cgroup/podruntime/kubelet", "/sys/fs/cgroup/podruntime/runtime")}
#: Units of a platform that start its kubelet at each boot and do not enable it (awslabs/amazon-eks-ami, nodeadm/internal/kubelet/daemon.go;
#: kubernetes/kubernetes, cluster/gce/gci/configure-helper.sh).
KUBELET_STARTERS: Mapping[str, str] = {"EKS AMI": "nodeadm-run", "GKE node": "kube-node-configuration"}
#: Of these the ones that the image enables, so that they run where no cluster waits, too.
STARTS_WITHOUT_CLUSTER = frozenset({"nodeadm-run"})
#: What cloud-init got from the instance's creator: empty for an instance that is to be no node.
USER_DATA = "/var/lib/cloud/instance/user-data.txt"
#: How to change the kubelet's configuration where the platform overwrites the host's files.
_KUBELET_WAYS: Mapping[str, tuple[str, ...]] = {
    "GKE node": ("Change kubeletConfig in the system configuration of the GKE node pool.",),
    "EKS AMI": ("Change spec.kubelet of the NodeConfig in the node's user data, and replace the node.",),
    "AKS node image": ("Make a node pool with a custom kubelet configuration.",),
    "Bottlerocket": ("Change settings.kubernetes with 'apiclient set'.",),
    "Talos Linux": ("Change machine.kubelet.extraConfig in the machine configuration.",),
    "Red Hat CoreOS": ("Change the KubeletConfig of the node's machine config pool.",),
}


def owners_way(platform: str, owner: str, part: str) -> tuple[str, ...]:
    """Remedies for a part with another owner; () for the host's own.

    The owner of an image repairs it with the next image; until then the host's own steps help.

    >>> owners_way("EKS AMI", "image", "driver"), owners_way("", "host", "driver")
    (('Replace the node with one from a corrected image: EKS AMI provides this part.',), ())
    """
    if owner == "host":
        return ()
    if part == "kubelet" and platform in _KUBELET_WAYS:
        return _KUBELET_WAYS[platform]
    if owner == "operator":
        return OWNERS_WAY["driver" if part == "libraries" else part]
    if platform in _WAYS:
        return _WAYS[platform]
    if owner == "image":
        return (f"Replace the node with one from a corrected image: {platform} provides this part.",)
    return ("Recreate the node, or ask its provider to correct it.",)


def repairs_itself(platform: str, owner: str) -> bool:
    """Whether the host's own steps help until its owner repairs it: on an image that packages still change."""
    return owner == "image" and platform not in _WAYS
