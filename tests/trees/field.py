"""Hosts by who brings their runtime: MicroK8s, Docker's snap, cri-dockerd, OpenShift; each healthy, and with one named change.

Sources: canonical/microk8s-core-addons, addons/nvidia/enable, and canonical/microk8s, default-args/containerd-template.toml;
canonical/docker-snap, nvidia/lib, and issue 180; Kubernetes, Container Runtimes: Docker Engine; openshift/machine-config-operator,
templates for kubelet.service and crio.conf.d, and openshift/enhancements, split-rhcos-into-layers.
"""

import json
from pathlib import Path

from tests.trees import containers, driver, gpus, packages, serving, system
from tests.trees.claim import PACKAGES, claims
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, Tree

_TOOLKIT = "/usr/local/nvidia/toolkit"
_PLUGIN = "/var/run/cdi/k8s.device-plugin.nvidia.com-gpu.json"
_MANAGEMENT = "/var/run/cdi/management.nvidia.com-gpu.yaml"
_SOCKET = "/var/lib/kubelet/device-plugins/nvidia-gpu.sock"


def _operators_toolkit(tree: Tree, *variants: str) -> None:
    """What the GPU Operator's toolkit and device plugin leave on a node."""
    names = ("libnvidia-container.so.1.19.1", "nvidia-ctk", "nvidia-cdi-hook", "nvidia-container-cli", "nvidia-container-runtime")
    for name in (*names, *(f"nvidia-container-runtime.{one}" for one in variants)):
        tree.program(f"{_TOOLKIT}/{name}")
    tree.write("/run/nvidia/validations/toolkit-ready", "", time=BOOTED_AT + 300)
    tree.socket(_SOCKET)


_MICROK8S = """version = 2
oom_score = 0

[plugins."io.containerd.grpc.v1.cri"]
  stream_server_address = "127.0.0.1"
  stream_server_port = "0"

  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "{0}"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"

    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia-container-runtime]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia-container-runtime.options]
        BinaryName = "nvidia-container-runtime"
"""
_MICROK8S_NVIDIA = """
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
        BinaryName = "/usr/local/nvidia/toolkit/nvidia-container-runtime"
"""
_MICROK8S_CONFIG = "/var/snap/microk8s/8511/args/containerd.toml"
_SNAP_UNIT = "[Unit]\nDescription=Service for snap application {0}\n\n[Service]\nExecStart=/usr/bin/snap run {0}\n\n[Install]\nWantedBy=multi-user.target\n"


#: canonical/microk8s, microk8s-resources/default-args/kubelet.
_MICROK8S_KUBELET = """--resolv-conf=/run/systemd/resolve/resolv.conf
--kubeconfig=${SNAP_DATA}/credentials/kubelet.config
--cert-dir=${SNAP_DATA}/certs
--client-ca-file=${SNAP_DATA}/certs/ca.crt
--anonymous-auth=false
--root-dir=${SNAP_COMMON}/var/lib/kubelet
--fail-swap-on=false
--eviction-hard="memory.available<100Mi,nodefs.available<1Gi,imagefs.available<1Gi"
--container-runtime-endpoint=${SNAP_COMMON}/run/containerd.sock
--containerd=${SNAP_COMMON}/run/containerd.sock
--node-labels="microk8s.io/cluster=true,node.kubernetes.io/microk8s-controlplane=microk8s-controlplane"
--authentication-token-webhook=true
--cluster-domain=cluster.local
--cluster-dns=10.152.183.10
--serialize-image-pulls=false
"""


def _snap_unit(tree: Tree, app: str) -> None:
    system.unit(tree, f"snap.{app}.service", _SNAP_UNIT.format(app), directory="/etc/systemd/system")


@claims(source="canonical/microk8s-core-addons, nvidia; microk8s, containerd-template.toml")
def microk8s_addon(root: Path) -> Tree:
    """'microk8s enable nvidia' on a host with a driver: the template's own entry is there as on each node, the GPU Operator's is the default."""
    tree = serving.worker(root, "mk8s-gpu-1", with_toolkit=False)
    for name in ("containerd", "runc"):
        tree.program(f"/snap/microk8s/8511/bin/{name}")
    for path in ("/snap/microk8s/current", "/var/snap/microk8s/current"):
        tree.link(path, "8511")
    tree.programs["/snap/microk8s/current/bin/containerd", "--version"] = (
        "containerd github.com/containerd/containerd v1.7.28 b98a3aace656\n"
    )
    tree.write(_MICROK8S_CONFIG, _MICROK8S.format("nvidia") + _MICROK8S_NVIDIA, time=BOOTED_AT + 20)
    for app in ("microk8s.daemon-containerd", "microk8s.daemon-kubelite"):
        _snap_unit(tree, app)
    socket = "/var/snap/microk8s/common/run/containerd.sock"
    argv = ("/snap/microk8s/8511/bin/containerd", "--config", _MICROK8S_CONFIG, "--address", socket)
    kubelite = ("/snap/microk8s/8511/kubelite", "--kubelet-args-file=/var/snap/microk8s/8511/args/kubelet", "--start-control-plane=true")
    system.run(tree, Daemon(950, argv, "snap.microk8s.daemon-containerd.service", (socket,), 24))
    system.run(tree, Daemon(960, kubelite, "snap.microk8s.daemon-kubelite.service", started_s=30))
    tree.link("/var/lib/kubelet", "/var/snap/microk8s/common/var/lib/kubelet")
    tree.write("/var/snap/microk8s/8511/args/kubelet", _MICROK8S_KUBELET)
    tree.write(
        "/snap/microk8s/8511/meta/snap.yaml", "name: microk8s\nversion: v1.33.5\nsummary: Kubernetes for workstations and appliances\n"
    )
    _operators_toolkit(tree)
    return tree


@claims("runtime.handler_binary", twin="microk8s-addon")
def microk8s_without_addon(root: Path) -> Tree:
    """The add-on's entry is gone from the template: the entry that stays names a program that nobody installed."""
    tree = microk8s_addon(root)
    tree.write(_MICROK8S_CONFIG, _MICROK8S.format("runc"), time=BOOTED_AT + 20)
    return tree


_SNAP = "/var/snap/docker/3265"


@claims(source="canonical/docker-snap, nvidia/lib")
def docker_snap(root: Path) -> Tree:
    """Docker by snap: it brings the toolkit along and reads files of its own."""
    tree = serving.worker(root, "lab-snap", with_toolkit=False)
    for path in ("bin/dockerd", "bin/containerd", "bin/runc", "usr/bin/nvidia-ctk", "usr/bin/nvidia-container-runtime"):
        tree.program(f"/snap/docker/3265/{path}")
    for path in ("/snap/docker/current", "/var/snap/docker/current"):
        tree.link(path, "3265")
    tree.programs["/snap/docker/current/bin/dockerd", "--version"] = "Docker version 28.4.0, build 249d679\n"
    tree.programs["/snap/docker/current/usr/bin/nvidia-ctk", "--version"] = "NVIDIA Container Toolkit CLI version 1.19.1\n"
    nvidia = {"args": [], "path": "/snap/docker/3265/usr/bin/nvidia-container-runtime"}
    tree.write(f"{_SNAP}/config/daemon.json", json.dumps({"log-level": "error", "runtimes": {"nvidia": nvidia}}))
    _snap_unit(tree, "docker.dockerd")
    argv = ("dockerd", "--group", "docker", "--exec-root=/run/snap.docker", f"--config-file={_SNAP}/config/daemon.json")
    system.run(tree, Daemon(1050, argv, "snap.docker.dockerd.service", ("/run/docker.sock",), 25))
    own = ("containerd", "--config", "/run/snap.docker/containerd/containerd.toml")
    system.run(tree, Daemon(1080, own, "snap.docker.dockerd.service", started_s=26))
    containers.cdi(tree, 1, path=f"{_SNAP}/etc/cdi/nvidia.yaml")
    return tree


@claims("runtime.nvidia_handler", twin="docker-snap")
def docker_snap_without_entry(root: Path) -> Tree:
    """The snap's set-up of the toolkit failed, and took its entry back: "unknown or invalid runtime name: nvidia"."""
    tree = docker_snap(root)
    tree.write(f"{_SNAP}/config/daemon.json", '{"log-level": "error"}\n')
    return tree


@claims(source="Mirantis/cri-dockerd, packaging/systemd; Kubernetes, Container Runtimes")
def cri_dockerd(root: Path) -> Tree:
    """kubeadm over Docker, by cri-dockerd."""
    tree = serving.worker(root, "kubeadm-docker-1")
    nvidia = {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}
    containers.install_docker(tree, {"default-runtime": "nvidia", "runtimes": nvidia, "exec-opts": ["native.cgroupdriver=systemd"]})
    versions = {"containerd.io": "1.7.28-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble", "kubelet": "1.34.2-1.1"}
    packages.dpkg(tree, {**versions, "cri-dockerd": "0.4.0~3-0~ubuntu-noble"})
    argv = ("/usr/bin/cri-dockerd", "--container-runtime-endpoint", "fd://")
    tree.program(argv[0])
    system.unit(tree, "cri-docker.service", system.service("CRI Interface for Docker Application Container Engine", " ".join(argv)))
    system.run(tree, Daemon(1100, argv, "cri-docker.service", ("/run/cri-dockerd.sock",), 30))
    endpoint = "--container-runtime-endpoint=unix:///var/run/cri-dockerd.sock"
    serving.kubelet(
        tree,
        "/var/lib/kubelet/config.yaml",
        endpoint,
        text="apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\n",
    )
    containers.cdi(tree, 1)
    return tree


@claims("runtime.service_running", twin="cri-dockerd")
def cri_dockerd_dead(root: Path) -> Tree:
    """cri-dockerd is down; Docker runs on, and the kubelet cannot reach it."""
    tree = cri_dockerd(root)
    system.stop(tree, 1100, "cri-docker.service")
    kept = (line for line in tree.text("/proc/1/net/unix").splitlines(keepends=True) if "cri-dockerd" not in line)
    tree.write("/proc/1/net/unix", "".join(kept))
    tree.remove("/run/cri-dockerd.sock")
    return tree


_RHCOS = """NAME="Red Hat Enterprise Linux CoreOS"
ID="rhel"
ID_LIKE="fedora"
VERSION_ID="9.6"
PRETTY_NAME="Red Hat Enterprise Linux CoreOS 9.6.20251015-1 (Plow)"
VARIANT_ID=coreos
OPENSHIFT_VERSION="4.20"
"""
_CRIO = """[crio.runtime]
selinux = true
conmon_cgroup = "pod"
default_runtime = "crun"
cgroup_manager = "systemd"
hooks_dir = ["/etc/containers/oci/hooks.d", "/run/containers/oci/hooks.d", "/usr/share/containers/oci/hooks.d"]

[crio.runtime.runtimes.runc]
runtime_root = "/run/runc"

[crio.runtime.runtimes.crun]
allowed_annotations = ["io.containers.trace-syscall"]
"""
_CRIO_NVIDIA = "".join(
    f'[crio.runtime.runtimes.{name}]\nruntime_path = "{_TOOLKIT}/{program}"\nruntime_type = "oci"\n\n'
    for name, program in (("nvidia", "nvidia-container-runtime"), ("nvidia-cdi", "nvidia-container-runtime.cdi"))
)


@claims(source="openshift/enhancements, split-rhcos-into-layers; gpu-driver-container, rhel9")
def openshift(root: Path) -> Tree:
    """A worker of OpenShift 4.20 with the GPU Operator: its nodes call themselves RHEL, an ostree deployment without a kernel in /boot by name."""
    tree = Tree(root, kernel="5.14.0-570.55.1.el9_6.x86_64", driver="580.126.20")
    tree.libraries = "/usr/lib64"
    _coreos(tree)
    _driver_container(tree)
    _operators_toolkit(tree, "cdi")
    _crio(tree)
    containers.cdi(tree, 4, path=_MANAGEMENT, kind="management.nvidia.com/gpu")
    serving.plugin_specification(tree, *(gpus.uuid(number) for number in range(4)))
    for path in (_MANAGEMENT, _PLUGIN):
        text = tree.text(path).replace("hostPath: /usr", "hostPath: /run/nvidia/driver/usr")
        tree.write(path, text, time=BOOTED_AT + 360)
    return tree


@claims("driver.loaded", never=PACKAGES, twin="openshift-4.20")
def openshift_driver_failed(root: Path) -> Tree:
    """After an update the driver container does not build for the new kernel: it mounts and loads nothing, the toolkit's pod waits for it."""
    tree = openshift(root)
    driver.unload(tree)
    gpus.fault(tree, "Init * error 9")
    for path in ("/run/nvidia/driver", "/run/nvidia/validations", "/proc/3050", _MANAGEMENT, _PLUGIN, _SOCKET):
        tree.remove(path)
    tree.edit("/proc/1/mountinfo", "900 22 0:95 / /run/nvidia/driver rw,relatime shared:400 - overlay overlay rw\n", "")
    return tree


def _coreos(tree: Tree) -> None:
    system.install_os(tree, "rocky9", "worker-gpu-0")
    tree.write("/usr/lib/os-release", _RHCOS)
    system.install_kernel(tree, tree.kernel, headers=False, files="")
    tree.write(f"/lib/modules/{tree.kernel}/vmlinuz", "kernel\n")
    system.boot(tree, "worker-gpu-0")
    for path in ("/run/ostree-booted", "/etc/.ignition-result.json"):
        tree.write(path, "")
    place = f"/boot/ostree/rhcos-7c4a8d09ca3762af61e5/vmlinuz-{tree.kernel}"
    tree.write(place, "kernel\n")
    tree.link("/boot/loader", "loader.1")
    title = "title Red Hat Enterprise Linux CoreOS 9.6.20251015-1 (Plow) (ostree:0)\nversion 1\n"
    tree.write("/boot/loader.1/entries/ostree-1.conf", f"{title}options ostree=/ostree/boot.1/rhcos/7c4a8d09/0 rw\nlinux {place}\n")
    tree.write("/boot/grub2/grub.cfg", "set default=0\nset timeout=1\nblscfg\n")
    driver.keep_nouveau_out(tree, "/etc/modprobe.d/blacklist-nouveau.conf")
    kernel = tree.kernel.removesuffix(".x86_64")
    parts = {"cri-o": "1.33.5-2.rhaos4.20.el9", "openshift-kubelet": "4.20.0-202510151209.el9", "kernel-core": kernel}
    packages.rpm(tree, parts, vendor="Red Hat, Inc.")
    system.run(tree, Daemon(640, ("/usr/sbin/chronyd", "-F", "2"), "chronyd.service", started_s=9))


def _driver_container(tree: Tree) -> None:
    container = "/run/nvidia/driver"
    driver.install_userland(tree, directory=f"{container}/usr/lib64", cached=False, time=BOOTED_AT + 300)
    tree.remove("/lib/firmware/nvidia")
    for name in ("gsp_ga10x.bin", "gsp_tu10x.bin"):
        tree.write(f"{container}/lib/firmware/nvidia/{tree.driver}/{name}", "firmware\n", time=BOOTED_AT + 300)
    for name in ("nvidia-smi", "nvidia-persistenced", "nvidia-modprobe"):
        tree.remove(f"/usr/bin/{name}")
        tree.program(f"{container}/usr/bin/{name}")
    driver.load_driver(tree)
    tree.write("/sys/module/firmware_class/parameters/path", f"{container}/lib/firmware\n")
    tree.append("/proc/1/mountinfo", f"900 22 0:95 / {container} rw,relatime shared:400 - overlay overlay rw\n")
    tree.write("/run/nvidia/validations/.driver-ctr-ready", "", time=BOOTED_AT + 300)
    gpus.install_gpus(tree, gpus.H100, gpus.HGX[:4])
    gpus.fault(tree, "DeviceGetGpuFabricInfoV * value 0 0 0 0", "DeviceGetNvLinkState * error 3")
    pod = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod5c1e.slice/crio-77f0.scope"
    system.run(tree, Daemon(3050, ("nvidia-persistenced", "--persistence-mode"), started_s=290, cgroup=pod, root=container))
    driver.persist(tree)


def _crio(tree: Tree) -> None:
    for name in ("crio", "crun", "runc", "kubelet"):
        tree.program(f"/usr/bin/{name}")
    tree.write("/etc/crio/crio.conf.d/00-default", _CRIO)
    tree.write("/etc/crio/crio.conf.d/99-nvidia.conf", _CRIO_NVIDIA, time=BOOTED_AT + 350)
    system.unit(tree, "crio.service", system.service("Container Runtime Interface for OCI (CRI-O)", "/usr/bin/crio $CRIO_CONFIG_OPTIONS"))
    system.run(tree, Daemon(902, ("/usr/bin/crio",), "crio.service", ("/run/crio/crio.sock",), started_s=360))
    text = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\ncgroupDriver: systemd\ncgroupRoot: /\n"
    serving.kubelet(tree, "/etc/kubernetes/kubelet.conf", "--container-runtime-endpoint=/var/run/crio/crio.sock", text=text)
