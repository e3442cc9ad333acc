"""Hosts by the runtime that serves jobs and the ways in which GPUs reach its containers: each healthy, and with one named change.

Sources stand beside each: the published configuration that its files repeat.
"""

from pathlib import Path

from tests.trees import containers, driver, gpus, packages, system
from tests.trees.claim import RUNTIME_CONFIGURATION, claims
from tests.trees.hosts import DRIVER, KERNEL, driver_of_cuda_repository, persist, toolkit, ubuntu
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, NOW, Tree

_CONTAINERD = Daemon(901, ("/usr/bin/containerd",), "containerd.service", ("/run/containerd/containerd.sock",))
_DPKG_23, _DPKG_17 = "2.3.6-1~ubuntu.24.04~noble", "1.7.28-1~ubuntu.24.04~noble"
_DEVICE_PLUGIN = "/var/lib/kubelet/device-plugins/nvidia-gpu.sock"
_DRA = "/var/lib/kubelet/plugins/gpu.nvidia.com"
_MIG = "DeviceGetMigMode", "value 1 1"


def worker(root: Path, name: str, product: gpus.Product = gpus.T4, *, with_toolkit: bool = True) -> Tree:
    """One GPU, Ubuntu 24.04, NVIDIA's packages; no runtime yet."""
    tree = Tree(root, kernel=KERNEL, driver=DRIVER)
    ubuntu(tree, name)
    driver_of_cuda_repository(tree)
    driver.load_driver(tree)
    gpus.install_gpus(tree, product, gpus.HGX[:1])
    persist(tree)
    if with_toolkit:
        toolkit(tree)
    return tree


def _containerd(tree: Tree, config: str, version: str) -> None:
    """containerd with this file alone, running."""
    containers.install_containerd(tree)
    tree.remove("/etc/containerd/conf.d")
    tree.write("/etc/containerd/config.toml", config)
    packages.dpkg(tree, {"containerd.io": version})


def kubelet(tree: Tree, config: str, *flags: str, text: str) -> None:
    """A kubelet with this configuration file, running."""
    tree.program("/usr/bin/kubelet")
    tree.programs["/usr/bin/kubelet", "--version"] = "Kubernetes v1.34.2\n"
    command = " ".join(("/usr/bin/kubelet", f"--config={config}", *flags))
    system.unit(tree, "kubelet.service", system.service("kubelet: The Kubernetes Node Agent", command))
    tree.write(config, text)
    system.run(tree, Daemon(1201, tuple(command.split()), "kubelet.service", started_s=45))


# EKS: awslabs/amazon-eks-ami, nodeadm/internal/containerd/config2.template.toml and nodeadm's kubelet configuration.

_EKS = """version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
address = "/run/containerd/containerd.sock"

[plugins.'io.containerd.cri.v1.images']
discard_unpacked_layers = true

[plugins.'io.containerd.cri.v1.runtime']
enable_cdi = true

[plugins.'io.containerd.cri.v1.runtime'.containerd]
default_runtime_name = "{name}"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.{name}]
runtime_type = "io.containerd.runc.v2"
base_runtime_spec = "/etc/containerd/base-runtime-spec.json"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.{name}.options]
BinaryName = "{binary}"
SystemdCgroup = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dir = "/opt/cni/bin"
conf_dir = "/etc/cni/net.d"
"""
_EKS_KUBELET = '{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "cgroupDriver": "systemd"}\n'


@claims(source="awslabs/amazon-eks-ami, nodeadm/internal/containerd/config2.template.toml")
def eks_gpu(root: Path) -> Tree:
    """EKS's own containerd file: nvidia is the default, and no runc entry beside it."""
    tree = worker(root, "ip-192-0-2-17")
    _containerd(tree, _EKS.format(name="nvidia", binary="/usr/bin/nvidia-container-runtime"), "2.1.5-1~ubuntu.24.04~noble")
    endpoint = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"
    kubelet(tree, "/etc/kubernetes/kubelet/config.json", endpoint, text=_EKS_KUBELET)
    return tree


@claims("runtime.nvidia_handler", twin="eks-gpu")
def eks_gpu_without_handler(root: Path) -> Tree:
    """The file of a node without GPUs."""
    tree = eks_gpu(root)
    tree.write("/etc/containerd/config.toml", _EKS.format(name="runc", binary="/usr/sbin/runc"))
    tree.program("/usr/sbin/runc")
    return tree


# AKS: Azure/AgentBaker, aks-node-controller/parser/templates/containerd_v2.toml.gtpl, containerd 2.3.

_AKS = """version = 4
oom_score = -999
[plugins."io.containerd.cri.v1.images"]
  [plugins."io.containerd.cri.v1.images".pinned_images]
    sandbox = "mirror.example.invalid/oss/v2/kubernetes/pause:3.10"
  [plugins."io.containerd.cri.v1.images".registry]
    config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime"]
  enable_cdi = true
[plugins."io.containerd.cri.v1.runtime".containerd]
    default_runtime_name = "nvidia-container-runtime"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia-container-runtime]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia-container-runtime.options]
      BinaryName = "/usr/bin/nvidia-container-runtime"
      SystemdCgroup = true
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.untrusted]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.untrusted.options]
      BinaryName = "/usr/bin/nvidia-container-runtime"
[metrics]
  address = "0.0.0.0:10257"
"""
_KUBEADM = (
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\n"
    "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n"
)


@claims(source="Azure/AgentBaker, aks-node-controller/parser/templates/containerd_v2.toml.gtpl")
def aks_gpu(root: Path) -> Tree:
    """AKS's containerd 2.3 with a version 4 file."""
    tree = worker(root, "aks-gpu-000001")
    _containerd(tree, _AKS, _DPKG_23)
    kubelet(tree, "/etc/default/kubeletconfig.json", text=_EKS_KUBELET)
    return tree


@claims("runtime.handler_cgroup", twin="aks-gpu-containerd-2.3")
def aks_gpu_other_cgroups(root: Path) -> Tree:
    """The nvidia entry lost SystemdCgroup, under a kubelet that uses systemd."""
    tree = aks_gpu(root)
    tree.edit("/etc/containerd/config.toml", "      SystemdCgroup = true\n", "")
    return tree


# GPU Operator on AKS: NVIDIA/aicr issue 1688 (containerd 2.3.2, the Operator's toolkit 1.19.1); containerd pull request 12891.

_AKS_2 = """version = 2
oom_score = -999
imports = ["/etc/containerd/conf.d/*.toml"]
[plugins."io.containerd.grpc.v1.cri".containerd]
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
      BinaryName = "/usr/bin/runc"
      SystemdCgroup = true
"""
_OPERATORS = """version = {version}
[plugins."{cri}".containerd.runtimes.nvidia]
  runtime_type = "io.containerd.runc.v2"
[plugins."{cri}".containerd.runtimes.nvidia.options]
  BinaryName = "/usr/bin/nvidia-container-runtime"
  SystemdCgroup = true
"""


def aks_drop_in(root: Path) -> Tree:
    """A drop-in of the main file's own version, as RUNTIME_CONFIG_SOURCE=file makes it."""
    tree = worker(root, "aks-gpu-000003")
    _containerd(tree, _AKS_2, "2.3.2-ubuntu24.04u2")
    tree.write("/etc/containerd/conf.d/99-nvidia.toml", _OPERATORS.format(version=2, cri="io.containerd.grpc.v1.cri"))
    kubelet(tree, "/etc/default/kubeletconfig.json", text=_EKS_KUBELET)
    return tree


def aks_newer_drop_in(root: Path) -> Tree:
    """The drop-in has the version of 'containerd config dump', and containerd does not start."""
    tree = aks_drop_in(root)
    tree.write("/etc/containerd/conf.d/99-nvidia.toml", _OPERATORS.format(version=4, cri="io.containerd.cri.v1.runtime"))
    system.stop(tree, 901, "containerd.service")
    return tree


# kubeadm: Kubernetes, Container Runtimes; the kubelet's file names the endpoint.


@claims(source="Kubernetes, Container Runtimes")
def kubeadm_beside_docker(root: Path) -> Tree:
    """containerd under a kubelet, and a Docker for builds, both with the nvidia runtime."""
    tree = worker(root, "gpu-build-03")
    nvidia = {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}
    containers.install_docker(tree, nvidia)
    system.stop(tree, 901, "containerd.service")
    containers.install_containerd(tree)
    packages.dpkg(
        tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"}
    )
    kubelet(tree, "/var/lib/kubelet/config.yaml", text=_KUBEADM)
    return tree


@claims("runtime.service_running", twin="kubeadm-beside-docker")
def kubeadm_containerd_dead(root: Path) -> Tree:
    """The kubelet's containerd is down; Docker runs on."""
    tree = kubeadm_beside_docker(root)
    system.stop(tree, 901, "containerd.service")
    return tree


@claims("runtime.cri_enabled", twin="kubeadm-beside-docker")
def kubeadm_without_cri(root: Path) -> Tree:
    """Docker's package put its own file of containerd in place: CRI is switched off."""
    tree = kubeadm_beside_docker(root)
    tree.write("/etc/containerd/config.toml", 'disabled_plugins = ["cri"]\n')
    return tree


@claims("runtime.nvidia_handler", twin="kubeadm-beside-docker", source="NVIDIA GPU Operator issues 413 and 432")
def kubeadm_without_access(root: Path) -> Tree:
    """Only Docker got the nvidia runtime (NVIDIA GPU Operator issues 413 and 432)."""
    tree = kubeadm_beside_docker(root)
    tree.remove("/etc/containerd/conf.d")
    return tree


# GPU Operator: NVIDIA/cloud-native-docs, gpu-operator/cdi.rst; k8s-device-plugin, internal/cdi; DRA driver, cmd/gpu-kubelet-plugin.


@claims(never=RUNTIME_CONFIGURATION, source="NVIDIA/cloud-native-docs, gpu-operator/cdi.rst; k8s-device-plugin, internal/cdi")
def operator_nri(root: Path) -> Tree:
    """The Operator's CDI with its NRI plugin: containerd is not edited, the device plugin writes the specification."""
    tree = worker(root, "gpu-worker-11")
    containers.install_containerd(tree)
    tree.remove("/etc/containerd/conf.d")
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"})
    kubelet(tree, "/var/lib/kubelet/config.yaml", text=_KUBEADM)
    plugin_specification(tree, gpus.uuid(0))
    containers.cdi(tree, 1, path="/var/run/cdi/management.nvidia.com-gpu.yaml", kind="management.nvidia.com/gpu")
    for path in ("/run/nri/nri.sock", _DEVICE_PLUGIN):
        tree.socket(path)
    return tree


@claims("runtime.nvidia_handler", twin="gpu-operator-nri")
def operator_nri_left_behind(root: Path) -> Tree:
    """The Operator was removed: its specifications lie there, its device plugin is gone."""
    tree = operator_nri(root)
    tree.remove(_DEVICE_PLUGIN)
    return tree


@claims(source="k8s-device-plugin, internal/cdi; nvcdi, namer.go")
def operator_mig(root: Path) -> Tree:
    """A GPU in slices: the device plugin names them by UUID."""
    tree = worker(root, "gpu-worker-12", gpus.H100)
    gpus.fault(tree, "DeviceGetMigMode * value 1 1", "DeviceGetGpuFabricInfoV * error 3", "DeviceGetNvLinkState * error 3")
    containers.install_containerd(tree)
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"})
    kubelet(tree, "/var/lib/kubelet/config.yaml", text=_KUBEADM)
    plugin_specification(tree, "MIG-41b3f8a2-0d5e-5c1b-9f37-2a6c4e8d1b90", "MIG-9c7d2e14-6a3f-5b8e-8d20-5f1b3c9a7e62")
    tree.socket(_DEVICE_PLUGIN)
    return tree


def plugin_specification(tree: Tree, *names: str) -> None:
    """As ``nvidia-ctk``'s, by the device plugin: one device per name."""
    path, kind = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json", "k8s.device-plugin.nvidia.com/gpu"
    containers.cdi(tree, 1, path=path, kind=kind)
    text = tree.text(path)
    head, _, device = text.partition('  - name: "0"')
    device = device.partition('  - name: "all"')[0]
    tree.write(path, head + "".join(f'  - name: "{name}"{device}' for name in names), time=BOOTED_AT + 60)


@claims(never=RUNTIME_CONFIGURATION, source="kubernetes-sigs/dra-driver-nvidia-gpu, cmd/gpu-kubelet-plugin")
def operator_dra(root: Path) -> Tree:
    """GPUs by DRA: a specification is written for each claim, so that this idle node has none."""
    tree = worker(root, "gpu-worker-13")
    containers.install_containerd(tree)
    tree.remove("/etc/containerd/conf.d")
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"})
    kubelet(tree, "/var/lib/kubelet/config.yaml", text=_KUBEADM)
    tree.socket(f"{_DRA}/dra.sock")
    tree.directory("/var/run/cdi")
    return tree


@claims("runtime.nvidia_handler", twin="gpu-operator-dra")
def operator_dra_without_plugin(root: Path) -> Tree:
    """The DRA driver's directory is there, its plug-in is not."""
    tree = operator_dra(root)
    tree.remove(f"{_DRA}/dra.sock")
    return tree


# Docker by flag: flatcar/sysext-bakery, nvidia_runtime's docker.service.d/10-nvidia.conf; nvidia-docker issue 1002.


@claims(never=RUNTIME_CONFIGURATION, source="flatcar/sysext-bakery, nvidia_runtime, docker.service.d/10-nvidia.conf")
def docker_by_flag(root: Path) -> Tree:
    """dockerd is told of the nvidia runtime by its command line."""
    tree = worker(root, "flat-gpu-1")
    containers.install_docker(tree, {})
    packages.dpkg(tree, {"containerd.io": _DPKG_17, "docker-ce": "5:27.5.1-1~ubuntu.24.04~noble"})
    argv = ("/usr/bin/dockerd", "-H", "fd://", "--add-runtime=nvidia=/usr/bin/nvidia-container-runtime", "--default-runtime=nvidia")
    tree.write("/etc/systemd/system/docker.service.d/10-nvidia.conf", f"[Service]\nExecStart=\nExecStart={' '.join(argv)}\n")
    system.stop(tree, 1050, "docker.service")
    system.run(tree, Daemon(1050, argv, "docker.service", ("/run/docker.sock",), 25))
    return tree


@claims("runtime.config_accepted", never=RUNTIME_CONFIGURATION, twin="docker-by-flag", source="nvidia-docker issue 1002")
def docker_by_flag_and_file(root: Path) -> Tree:
    """'nvidia-ctk runtime configure --set-as-default' wrote daemon.json, which now says what a flag says: dockerd does not start."""
    tree = docker_by_flag(root)
    entry = '{"default-runtime": "nvidia", "runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}}\n'
    tree.write("/etc/docker/daemon.json", entry, time=NOW - 3600)
    system.stop(tree, 1050, "docker.service")
    return tree


# Docker's hook: NVIDIA Container Toolkit 1.10, User Guide; Ubuntu's own docker.io beside its containerd.


@claims(source="NVIDIA Container Toolkit 1.10, User Guide")
def docker_hook(root: Path) -> Tree:
    """docker run --gpus by the hook alone; Ubuntu's containerd has CRI on, as it comes, and nobody asks it."""
    tree = worker(root, "lab-7")
    containers.install_docker(tree, {})
    tree.remove("/etc/containerd/config.toml")
    packages.dpkg(tree, {"containerd": "1.7.27-0ubuntu1~24.04.1", "docker.io": "27.5.1-0ubuntu3~24.04.2"})
    return tree


@claims("runtime.nvidia_handler", twin="docker-hook")
def docker_hook_missing(root: Path) -> Tree:
    """The hook's package went away."""
    tree = docker_hook(root)
    tree.remove("/usr/bin/nvidia-container-runtime-hook")
    return tree


# CRI-O: cri-o/packaging, crio.conf.d/10-crio.conf; NVIDIA Container Toolkit, installation guide for CRI-O.

_CRIO = '[crio.image]\nsignature_policy = "/etc/crio/policy.json"\n\n[crio.runtime]\ndefault_runtime = "crun"\n\n' + "".join(
    f'[crio.runtime.runtimes.{name}]\nruntime_path = "/usr/libexec/crio/{name}"\nmonitor_path = "/usr/libexec/crio/conmon"\n\n'
    for name in ("crun", "runc")
)
_CRIO_NVIDIA = '[crio.runtime.runtimes.nvidia]\nruntime_path = "/usr/bin/nvidia-container-runtime"\nruntime_type = "oci"\n'


@claims(source="cri-o/packaging, crio.conf.d/10-crio.conf; NVIDIA Container Toolkit, Installation Guide")
def crio_worker(root: Path) -> Tree:
    """CRI-O under a kubelet, with the drop-in of 'nvidia-ctk runtime configure'."""
    tree = worker(root, "crio-gpu-2")
    for path in ("/usr/bin/crio", "/usr/libexec/crio/crun", "/usr/libexec/crio/runc", "/usr/bin/runc"):
        tree.program(path)
    packages.dpkg(tree, {"cri-o": "1.34.2-1.1", "kubelet": "1.34.2-1.1"})
    tree.write("/etc/crio/crio.conf.d/10-crio.conf", _CRIO)
    tree.write("/etc/crio/crio.conf.d/99-nvidia.toml", _CRIO_NVIDIA)
    system.unit(tree, "crio.service", system.service("Container Runtime Interface for OCI (CRI-O)", "/usr/bin/crio"))
    system.run(tree, Daemon(902, ("/usr/bin/crio",), "crio.service", ("/run/crio/crio.sock",)))
    text = _KUBEADM.replace("/run/containerd/containerd.sock", "/var/run/crio/crio.sock")
    kubelet(tree, "/var/lib/kubelet/config.yaml", text=text)
    return tree


# OpenShift: openshift/machine-config-operator, crio.conf.d/00-default; gpu-operator pull request 1796: without CDI the toolkit of the
# Operator leaves a hook, and no runtime entry.

_MCO = """[crio.runtime]
cgroup_manager = "systemd"
hooks_dir = [
    "/etc/containers/oci/hooks.d",
    "/run/containers/oci/hooks.d",
    "/usr/share/containers/oci/hooks.d",
]
"""
_HOOK = (
    '{"version": "1.0.0", "hook": {"path": "/usr/bin/nvidia-container-runtime-hook", "args": ["nvidia-container-runtime-hook", "prestart"]}, '
    '"when": {"always": true, "commands": [".*"]}, "stages": ["prestart"]}\n'
)


@claims(twin="crio-worker", source="openshift/machine-config-operator, crio.conf.d/00-default; gpu-operator pull request 1796")
def crio_hook(root: Path) -> Tree:
    """The toolkit's hook in a directory that CRI-O lists, and no nvidia entry."""
    tree = crio_worker(root)
    tree.remove("/etc/crio/crio.conf.d/99-nvidia.toml")
    tree.write("/etc/crio/crio.conf.d/00-default", _MCO)
    tree.write("/run/containers/oci/hooks.d/oci-nvidia-hook.json", _HOOK, time=BOOTED_AT + 90)
    return tree


@claims("runtime.crio_dropin_path", twin="crio-worker")
def crio_worker_wrong_directory(root: Path) -> Tree:
    """Toolkit 1.19.0 wrote the drop-in where CRI-O does not look."""
    tree = crio_worker(root)
    tree.remove("/etc/crio/crio.conf.d/99-nvidia.toml")
    tree.write("/etc/crio/conf.d/99-nvidia.toml", _CRIO_NVIDIA)
    return tree


# k3s: its documentation, Alternative Container Runtime Support: it looks for the toolkit as it starts.


@claims("runtime.nvidia_handler", never=RUNTIME_CONFIGURATION, twin="k3s-worker")
def k3s_started_before_toolkit(root: Path) -> Tree:
    """The toolkit was installed after k3s wrote its containerd file."""
    from tests.trees.others import k3s_worker

    tree = k3s_worker(root)
    path = "/var/lib/rancher/k3s/agent/etc/containerd/config.toml"
    text = tree.text(path)
    tree.write(path, text[: text.index('[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]')], time=BOOTED_AT + 21)
    tree.edit(path, "enable_cdi = true", "enable_cdi = false", time=BOOTED_AT + 21)
    return tree


# Slurm with Enroot: NVIDIA/deepops, roles/nvidia-enroot; Slurm, Containers Guide.


@claims(source="NVIDIA/deepops, roles/nvidia-enroot; Slurm, Containers Guide")
def slurm_enroot(root: Path) -> Tree:
    """No daemon starts containers: Slurm's jobs do, with Enroot."""
    tree = worker(root, "slurm-gpu-04")
    for name in ("slurmd", "enroot"):
        tree.program(f"/usr/sbin/{name}" if name == "slurmd" else f"/usr/bin/{name}")
    tree.program("/usr/bin/runc")
    system.unit(tree, "slurmd.service", system.service("Slurm node daemon", "/usr/sbin/slurmd --systemd"))
    system.run(tree, Daemon(1300, ("/usr/sbin/slurmd", "--systemd"), "slurmd.service", started_s=40))
    containers.cdi(tree, 1)
    return tree


@claims("runtime.service_running", twin="slurm-enroot")
def slurm_dead_docker(root: Path) -> Tree:
    """A Docker that is enabled beside slurmd did not come up."""
    tree = slurm_enroot(root)
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})
    packages.dpkg(tree, {"containerd.io": _DPKG_17, "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})
    system.stop(tree, 1050, "docker.service")
    return tree


# podman: NVIDIA Container Toolkit, Support for Container Device Interface.


@claims(source="NVIDIA Container Toolkit, Support for Container Device Interface")
def podman_cdi(root: Path) -> Tree:
    """podman and a specification that the refresh unit makes, without the groups that this podman does not know (toolkit issue 1940)."""
    tree = worker(root, "ws-podman")
    for name in ("podman", "crun"):
        tree.program(f"/usr/bin/{name}")
    packages.dpkg(tree, {"podman": "4.9.3+ds1-1ubuntu0.2", "crun": "1.14.1-1"})
    containers.cdi(tree, 1)
    tree.edit("/var/run/cdi/nvidia.yaml", "cdiVersion: 0.7.0", "cdiVersion: 0.5.0", time=BOOTED_AT + 60)
    return tree


@claims("runtime.present", twin="podman-cdi")
def podman_without_cdi(root: Path) -> Tree:
    """Nothing made a specification."""
    tree = podman_cdi(root)
    tree.remove("/run/cdi/nvidia.yaml")
    return tree


# config.toml: NVIDIA Container Toolkit issue 830; GPU Operator, Installing: pre-installed toolkit (sed s/^#root/root/).


@claims("toolkit.config_values", twin="kubeadm-beside-docker", source="NVIDIA Container Toolkit issue 830")
def toolkit_ldconfig(root: Path) -> Tree:
    """An ldconfig that newer toolkits refuse at each container start."""
    tree = kubeadm_beside_docker(root)
    tree.edit("/etc/nvidia-container-runtime/config.toml", '"@/sbin/ldconfig.real"', '"/sbin/ldconfig.real"')
    return tree


@claims("toolkit.config_values", twin="kubeadm-beside-docker", source="GPU Operator, Installing: pre-installed toolkit")
def toolkit_root_left_behind(root: Path) -> Tree:
    """The host went from the Operator's driver container to packages, and kept its root."""
    tree = kubeadm_beside_docker(root)
    tree.edit("/etc/nvidia-container-runtime/config.toml", "load-kmods = true", 'load-kmods = true\nroot = "/run/nvidia/driver"')
    return tree


RECIPES = {
    "eks-gpu": eks_gpu,
    "eks-gpu-without-handler": eks_gpu_without_handler,
    "aks-gpu-containerd-2.3": aks_gpu,
    "aks-gpu-other-cgroups": aks_gpu_other_cgroups,
    "kubeadm-beside-docker": kubeadm_beside_docker,
    "kubeadm-containerd-dead": kubeadm_containerd_dead,
    "kubeadm-without-cri": kubeadm_without_cri,
    "kubeadm-without-access": kubeadm_without_access,
    "gpu-operator-nri": operator_nri,
    "gpu-operator-left-behind": operator_nri_left_behind,
    "gpu-operator-mig": operator_mig,
    "gpu-operator-dra": operator_dra,
    "gpu-operator-dra-without-plugin": operator_dra_without_plugin,
    "docker-by-flag": docker_by_flag,
    "docker-by-flag-and-file": docker_by_flag_and_file,
    "docker-hook": docker_hook,
    "docker-hook-missing": docker_hook_missing,
    "crio-worker": crio_worker,
    "crio-hook": crio_hook,
    "crio-worker-wrong-directory": crio_worker_wrong_directory,
    "k3s-started-before-toolkit": k3s_started_before_toolkit,
    "slurm-enroot": slurm_enroot,
    "slurm-dead-docker": slurm_dead_docker,
    "podman-cdi": podman_cdi,
    "podman-without-cdi": podman_without_cdi,
    "toolkit-ldconfig": toolkit_ldconfig,
    "toolkit-root-left-behind": toolkit_root_left_behind,
}
