"""Where the documents that checks name are read. As of 2026-11-22.

A reference of a check names a document in words: "NVIDIA Xid Errors, Xid 79", "dkms(8)", "NVIDIA/gpu-operator issues 126 and 2166".
"""

from collections.abc import Mapping

_DEPLOY = "https://docs.nvidia.com/deploy"
_TESLA = "https://docs.nvidia.com/datacenter/tesla"
_NATIVE = "https://docs.nvidia.com/datacenter/cloud-native"
_TOOLKIT = f"{_NATIVE}/container-toolkit/latest"
_OPERATOR = f"{_NATIVE}/gpu-operator/latest"
_KERNEL = "https://docs.kernel.org"
_NETWORKING = "https://docs.nvidia.com/networking/display"
_KUBERNETES = "https://kubernetes.io/docs"
_CDI = "https://github.com/cncf-tags/container-device-interface/blob/main"
_CONTAINERD = "https://github.com/containerd/containerd"
_README = "https://download.nvidia.com/XFree86/Linux-x86_64/580.95.05/README"

#: How the name of a document begins, to its address. The longest beginning counts.
DOCUMENTS: Mapping[str, str] = {
    "AWS, Elastic Fabric Adapter": "https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa.html",
    "Azure/azurehpc-health-checks": "https://github.com/Azure/azurehpc-health-checks",
    "Boot Loader Specification": "https://uapi-group.org/specifications/specs/boot_loader_specification/",
    "CDI library, cache.go": "https://github.com/cncf-tags/container-device-interface/blob/main/pkg/cdi/cache.go",
    "CDI library, spec.go": "https://github.com/cncf-tags/container-device-interface/blob/main/pkg/cdi/spec.go",
    "CDI specification": f"{_CDI}/SPEC.md",
    "CUDA Compatibility": f"{_DEPLOY}/cuda-compatibility/",
    "CUDA Installation Guide for Linux": "https://docs.nvidia.com/cuda/cuda-installation-guide-linux/",
    "CUDA Toolkit Release Notes": "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/",
    "DNF versionlock plugin": "https://dnf-plugins-core.readthedocs.io/en/latest/versionlock.html",
    "Debian Policy and update-notifier": "https://www.debian.org/doc/debian-policy/ch-opersys.html",
    "Docker Engine, Live restore": "https://docs.docker.com/engine/daemon/live-restore/",
    "Fedora Packaging Guidelines, section Scriptlets": "https://docs.fedoraproject.org/en-US/packaging-guidelines/Scriptlets/",
    "GRUB manual": "https://www.gnu.org/software/grub/manual/grub/grub.html",
    "InfiniBand Architecture Specification": "https://www.infinibandta.org/ibta-specification/",
    "Kubernetes, Configuring a cgroup driver": f"{_KUBERNETES}/tasks/administer-cluster/kubeadm/configure-cgroup-driver/",
    "Kubernetes, Control CPU Management Policies on the Node": f"{_KUBERNETES}/tasks/administer-cluster/cpu-management-policies/",
    "Kubernetes, Control Topology Management Policies on a Node": f"{_KUBERNETES}/tasks/administer-cluster/topology-manager/",
    "Kubernetes, Container Runtimes": f"{_KUBERNETES}/setup/production-environment/container-runtimes/",
    "Kubernetes, Device Plugins": f"{_KUBERNETES}/concepts/extend-kubernetes/compute-storage-net/device-plugins/",
    "Kubernetes, Feature Gates": f"{_KUBERNETES}/reference/command-line-tools-reference/feature-gates/",
    "Kubernetes, KubeletConfiguration": f"{_KUBERNETES}/reference/config-api/kubelet-config.v1beta1/",
    "Kubernetes, Node-pressure Eviction": f"{_KUBERNETES}/concepts/scheduling-eviction/node-pressure-eviction/",
    "Kubernetes, Releases": "https://kubernetes.io/releases/",
    "Kubernetes, Reserve Compute Resources for System Daemons": f"{_KUBERNETES}/tasks/administer-cluster/reserve-compute-resources/",
    "Kubernetes, Set Kubelet Parameters Via A Configuration File": f"{_KUBERNETES}/tasks/administer-cluster/kubelet-config-file/",
    "Kubernetes, Utilizing the NUMA-aware Memory Manager": f"{_KUBERNETES}/tasks/administer-cluster/memory-manager/",
    "Linux kernel, Documentation/ABI/stable/": f"{_KERNEL}/admin-guide/abi-stable.html",
    "Linux kernel, Documentation/ABI/testing/": f"{_KERNEL}/admin-guide/abi-testing.html",
    "Linux kernel, Documentation/PCI/pcieaer-howto": f"{_KERNEL}/PCI/pcieaer-howto.html",
    "Linux kernel, Documentation/admin-guide/RAS": f"{_KERNEL}/admin-guide/RAS/main.html",
    "Linux kernel, Documentation/admin-guide/cgroup-v2": f"{_KERNEL}/admin-guide/cgroup-v2.html",
    "Linux kernel, Documentation/admin-guide/devices.txt": f"{_KERNEL}/admin-guide/devices.html",
    "Linux kernel, Documentation/admin-guide/kernel-parameters": f"{_KERNEL}/admin-guide/kernel-parameters.html",
    "Linux kernel, Documentation/admin-guide/module-signing": f"{_KERNEL}/admin-guide/module-signing.html",
    "Linux kernel, Documentation/admin-guide/pm/cpufreq": f"{_KERNEL}/admin-guide/pm/cpufreq.html",
    "Linux kernel, Documentation/admin-guide/sysctl/kernel": f"{_KERNEL}/admin-guide/sysctl/kernel.html",
    "Linux kernel, Documentation/driver-api/vfio": f"{_KERNEL}/driver-api/vfio.html",
    "Linux kernel, Documentation/networking/bonding": f"{_KERNEL}/networking/bonding.html",
    "Linux kernel, Documentation/networking/devlink/mlx5": f"{_KERNEL}/networking/devlink/mlx5.html",
    "Linux kernel, Documentation/networking/ip-sysctl": f"{_KERNEL}/networking/ip-sysctl.html",
    "Linux kernel, Documentation/networking/nf_conntrack-sysctl": f"{_KERNEL}/networking/nf_conntrack-sysctl.html",
    "Linux kernel, include/uapi/linux/dcbnl.h": "https://github.com/torvalds/linux/blob/master/include/uapi/linux/dcbnl.h",
    "Linux kernel, Documentation/infiniband/user_verbs": f"{_KERNEL}/infiniband/user_verbs.html",
    "Linux kernel, include/rdma/ib_addr.h": "https://github.com/torvalds/linux/blob/master/include/rdma/ib_addr.h",
    "Linux kernel, kernel/module/version.c": "https://github.com/torvalds/linux/blob/master/kernel/module/version.c",
    "Microsoft, GPU support in WSL": "https://learn.microsoft.com/en-us/windows/wsl/tutorials/gpu-compute",
    "NCCL Release Notes": "https://docs.nvidia.com/deeplearning/nccl/release-notes/",
    "NCCL documentation, environment variables": "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html",
    "NCCL documentation, troubleshooting": "https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html",
    "NVIDIA Container Toolkit": f"{_TOOLKIT}/index.html",
    "NVIDIA Container Toolkit, CDI": f"{_TOOLKIT}/cdi-support.html",
    "NVIDIA Container Toolkit, Configuring": f"{_TOOLKIT}/install-guide.html",
    "NVIDIA Container Toolkit, Inst": f"{_TOOLKIT}/install-guide.html",
    "NVIDIA Container Toolkit, Release Notes": f"{_TOOLKIT}/release-notes.html",
    "NVIDIA Container Toolkit, Support for": f"{_TOOLKIT}/cdi-support.html",
    "NVIDIA Container Toolkit, Troubleshooting": f"{_TOOLKIT}/troubleshooting.html",
    "NVIDIA Container Toolkit, packaging": "https://github.com/NVIDIA/nvidia-container-toolkit/tree/main/packaging",
    "NVIDIA Container Toolkit, section Troubleshooting": f"{_TOOLKIT}/troubleshooting.html",
    "NVIDIA Container Toolkit, support for": f"{_TOOLKIT}/cdi-support.html",
    "NVIDIA Container Toolkit, troubleshooting": f"{_TOOLKIT}/troubleshooting.html",
    "NVIDIA Driver Installation Guide": f"{_TESLA}/driver-installation-guide/",
    "NVIDIA Driver Persistence": f"{_DEPLOY}/driver-persistence/",
    "NVIDIA Driver README": f"{_README}/",
    "NVIDIA Driver README, appendix Supported": f"{_README}/supportedchips.html",
    "NVIDIA Driver README, chapter The /proc Interface": f"{_README}/procinterface.html",
    "NVIDIA device plug-in for Kubernetes": "https://github.com/NVIDIA/k8s-device-plugin#readme",
    "NVIDIA driver README": f"{_README}/",
    "NVIDIA driver README, chapter GSP Firmware": f"{_README}/gsp.html",
    "NVIDIA driver README, chapter Installing the NVIDIA Driver": f"{_README}/installdriver.html",
    "NVIDIA driver README, chapter The /proc Interface": f"{_README}/procinterface.html",
    "NVIDIA Dynamic Page Retirement": f"{_DEPLOY}/dynamic-page-retirement/",
    "NVIDIA Fabric Manager User Guide": f"{_TESLA}/fabric-manager-user-guide/",
    "NVIDIA MLNX_OFED Documentation, Quality of Service": f"{_NETWORKING}/mlnxofedv24100700/Quality+of+Service+(QoS)",
    "NVIDIA MLNX_OFED Documentation, RDMA over Converged Ethernet": f"{_NETWORKING}/mlnxofedv451010/rdma+over+converged+ethernet+(roce)",
    "NVIDIA GPU Memory Error Management": f"{_DEPLOY}/a100-gpu-mem-error-mgmt/",
    "NVIDIA GPU Operator": f"{_OPERATOR}/index.html",
    "NVIDIA GPU Operator, Container Device Interface": f"{_OPERATOR}/cdi.html",
    "NVIDIA GPU Operator, GPUDirect RDMA": f"{_OPERATOR}/gpu-operator-rdma.html",
    "NVIDIA GPU Operator, GPU Operator with KubeVirt": f"{_OPERATOR}/gpu-operator-kubevirt.html",
    "NVIDIA GPU Operator, Installing": f"{_OPERATOR}/getting-started.html",
    "NVIDIA GPU Operator, platform support": f"{_OPERATOR}/platform-support.html",
    "NVIDIA GPU Operator, section Pre-Installed": f"{_OPERATOR}/getting-started.html",
    "NVIDIA GPUDirect RDMA": "https://docs.nvidia.com/cuda/gpudirect-rdma/",
    "NVIDIA IMEX Service Guide": "https://docs.nvidia.com/multi-node-nvlink-systems/imex-guide/",
    "NVIDIA Jetson Linux, Release Notes": "https://developer.nvidia.com/embedded/jetson-linux-archive",
    "NVIDIA License System": "https://docs.nvidia.com/license-system/latest/",
    "NVIDIA Multi-Instance GPU User Guide": f"{_TESLA}/mig-user-guide/",
    "NVIDIA NVML API Reference": f"{_DEPLOY}/nvml-api/",
    "NVIDIA Network Operator, README": "https://github.com/Mellanox/network-operator#readme",
    "NVIDIA Xid Errors": f"{_DEPLOY}/xid-errors/",
    "NVIDIA/nccl releases": "https://github.com/NVIDIA/nccl/releases",
    "NVIDIA/nccl, src/": "https://github.com/NVIDIA/nccl/tree/master/src",
    "NVIDIA, Analyzing Xid Errors with the Xid Catalog": f"{_DEPLOY}/xid-errors/analyzing-xid-catalog.html",
    "NVML API Reference": f"{_DEPLOY}/nvml-api/",
    "PCI Express Base Specification": "https://pcisig.com/specifications",
    "PyTorch documentation, torchrun": "https://docs.pytorch.org/docs/stable/elastic/run.html",
    "Slurm, Containers Guide": "https://slurm.schedmd.com/containers.html",
    "Slurm, gres.conf(5)": "https://slurm.schedmd.com/gres.conf.html",
    "Slurm, slurm.conf(5)": "https://slurm.schedmd.com/slurm.conf.html",
    "Slurm, slurmd(8)": "https://slurm.schedmd.com/slurmd.html",
    "aws-ofi-nccl, README": "https://github.com/aws/aws-ofi-nccl#readme",
    "cloud-init documentation": "https://cloudinit.readthedocs.io/en/latest/explanation/boot.html",
    "containerd 2.0, Release Notes": f"{_CONTAINERD}/blob/main/docs/containerd-2.0.md",
    "containerd, CRI Plugin Config Guide": f"{_CONTAINERD}/blob/main/docs/cri/config.md",
    "containerd, Getting started": f"{_CONTAINERD}/blob/main/docs/getting-started.md",
    "containerd, Releases": "https://containerd.io/releases/",
    "gpu-driver-container, nvidia-driver script": "https://github.com/NVIDIA/gpu-driver-container",
    "k8s-rdma-shared-dev-plugin, README": "https://github.com/Mellanox/k8s-rdma-shared-dev-plugin#readme",
    "kubernetes-sigs/dra-driver-nvidia-gpu, Prerequisites": (
        "https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/main/site/content/docs/prerequisites.md"
    ),
    "libfabric, fi_provider(7)": "https://ofiwg.github.io/libfabric/main/man/fi_provider.7.html",
    "nvml.h": f"{_DEPLOY}/nvml-api/",
    "open-gpu-kernel-modules, linux_nvswitch.c": "https://github.com/NVIDIA/open-gpu-kernel-modules/blob/main/kernel-open/nvidia/linux_nvswitch.c",
    "open-gpu-kernel-modules, procfs_nvswitch.c": (
        "https://github.com/NVIDIA/open-gpu-kernel-modules/blob/main/kernel-open/nvidia/procfs_nvswitch.c"
    ),
    "rdma-cni, README": "https://github.com/k8snetworkplumbingwg/rdma-cni#readme",
    "supported-gpus.json of the driver": "https://github.com/NVIDIA/open-gpu-kernel-modules#compatible-gpus",
    "unattended-upgrades, README": "https://github.com/mvo5/unattended-upgrades#readme",
}

#: What a repository is called before "issue" or "pull request", to its address below github.com, where that is not its own name.
REPOSITORIES: Mapping[str, str] = {
    "NVIDIA Container Toolkit": "NVIDIA/nvidia-container-toolkit",
    "NVIDIA GPU Operator": "NVIDIA/gpu-operator",
    "NVIDIA ansible-role-nvidia-driver": "NVIDIA/ansible-role-nvidia-driver",
    "NVIDIA cuda-repo-management": "NVIDIA/cuda-repo-management",
    "NVIDIA gpu-driver-container": "NVIDIA/gpu-driver-container",
    "NVIDIA gpu-operator": "NVIDIA/gpu-operator",
    "NVIDIA open-gpu-kernel-modules": "NVIDIA/open-gpu-kernel-modules",
    "NVSentinel": "NVIDIA/NVSentinel",
    "canonical ubuntu-drivers": "canonical/ubuntu-drivers-common",
    "containerd": "containerd/containerd",
    "gpu-driver-container": "NVIDIA/gpu-driver-container",
    "gpu-operator": "NVIDIA/gpu-operator",
    "linux-surface": "linux-surface/linux-surface",
    "open-gpu-kernel-modules": "NVIDIA/open-gpu-kernel-modules",
}

#: A security bulletin of NVIDIA's, by its number.
BULLETIN = "https://nvidia.custhelp.com/app/answers/detail/a_id/{}"

#: A manual page that Debian has, by name and section, and those that it has not.
MANUAL = "https://manpages.debian.org/{}.{}"
MANUALS: Mapping[str, str] = {
    "container_selinux(8)": "https://github.com/containers/container-selinux/blob/main/container_selinux.8",
    "crio.conf.d(5)": "https://github.com/cri-o/cri-o/blob/main/docs/crio.conf.d.5.md",
    "rpm-scriptlets(7)": "https://rpm.org/docs/latest/manual/scriptlets.html",
    "weak-modules(8)": "https://git.centos.org/rpms/kmod",
}
