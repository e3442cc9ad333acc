"""Nodes whose system, driver or runtime somebody else brings: each healthy, and some with one named change.

Sources stand beside each: the published configuration that its files repeat.
"""

from pathlib import Path

from tests.trees import containers, driver, gpus, packages, pcibus, system
from tests.trees.claim import PACKAGES, RUNTIME_CONFIGURATION, claims
from tests.trees.gpuhosts import A10G
from tests.trees.hosts import DRIVER, persist
from tests.trees.netdevs import Netdev
from tests.trees.others import rhel9_module_streams
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, Tree

L4 = gpus.Product(
    "NVIDIA L4", 0x27B8, 0x16CA, speed="16.0 GT/s PCIe", vbios="95.04.65.00.01",
    nvml=(
        ("DeviceGetNvLinkState", "error 3"), ("DeviceGetGpuFabricInfoV", "error 3"), ("DeviceGetMemoryInfo", "value 24152899584"),
        ("DeviceGetCudaComputeCapability", "value 8 9"), ("DeviceGetMigMode", "error 3"),
        ("DeviceGetEnforcedPowerLimit", "value 72000"), ("DeviceGetPowerManagementDefaultLimit", "value 72000"),
    ),
)  # fmt: skip
_ENDPOINT = "--container-runtime-endpoint=unix:///run/containerd/containerd.sock"
_SOCKET = "/run/containerd/containerd.sock"
_CONTAINERD = "containerd github.com/containerd/containerd/v2 v2.1.5 fcd43222d6b07379a4be9786bda52438f0dd16a1\n"


def _board(tree: Tree, vendor: str, product: str) -> None:
    tree.write("/sys/class/dmi/id/sys_vendor", f"{vendor}\n")
    tree.write("/sys/class/dmi/id/product_name", f"{product}\n")


def _containerd(tree: Tree, config: str, *argv: str, path: str = "/etc/containerd/config.toml", unit: str = "containerd.service") -> None:
    """containerd of the system itself: no package says its version."""
    for name in ("containerd", "containerd-shim-runc-v2", "runc"):
        tree.program(f"/usr/bin/{name}")
    tree.write(path, config)
    tree.programs["/usr/bin/containerd", "--version"] = _CONTAINERD
    argv = ("/usr/bin/containerd", *argv)
    if unit:
        system.unit(tree, unit, system.service("containerd container runtime", " ".join(argv), service_more="LimitMEMLOCK=infinity\n"))
    system.run(tree, Daemon(901, argv, unit, (_SOCKET,), cgroup="/podruntime/runtime"))


def _kubelet(tree: Tree, config: str, text: str, *flags: str, program: str = "/usr/bin/kubelet", unit: str = "kubelet.service") -> None:
    tree.program(program)
    tree.programs[program, "--version"] = "Kubernetes v1.34.2\n"
    argv = (program, f"--config={config}", *flags)
    if unit:
        system.unit(tree, unit, system.service("Kubelet", " ".join(argv)), directory="/etc/systemd/system")
    tree.write(config, text)
    system.run(tree, Daemon(1201, argv, unit, started_s=45, cgroup="/podruntime/kubelet"))


def _kernel(tree: Tree, files: str = "") -> None:
    """A kernel without headers and without nouveau, as systems of one purpose build it."""
    system.install_kernel(tree, tree.kernel, headers=False, files=files)
    root = f"/lib/modules/{tree.kernel}"
    tree.remove(f"{root}/kernel/drivers/gpu")
    tree.edit(f"{root}/modules.dep", "kernel/drivers/gpu/drm/nouveau/nouveau.ko.zst:\n", "")


def _unload(tree: Tree, count: int) -> None:
    """The module is not loaded, and no GPU is bound."""
    for place in gpus.HGX[:count]:
        tree.remove(f"/sys/bus/pci/devices/{place.pci}/driver")
    for one in ("nvidia", "nvidia_uvm", "nvidia_drm", "nvidia_modeset"):
        tree.edit("/proc/modules", f"{one} 16384 0 - Live 0x0000000000000000\n", "")
    tree.write("/proc/devices", "Character devices:\n  1 mem\n  4 tty\n  5 /dev/tty\n\nBlock devices:\n259 blkext\n")
    for name in (*(f"nvidia{at}" for at in range(count)), "nvidiactl", "nvidia-modeset", "nvidia-uvm", "nvidia-uvm-tools"):
        tree.remove(f"/dev/{name}")


def _chrony(tree: Tree) -> None:
    system.run(tree, Daemon(640, ("/usr/sbin/chronyd", "-F", "2"), "chronyd.service", started_s=9))


# GKE on Container-Optimized OS: GoogleCloudPlatform/container-engine-accelerators, nvidia-driver-installer/cos/daemonset-preloaded-latest.yaml
# and cmd/nvidia_gpu/device-plugin.yaml; cos/tools, cos_gpu_installer; kubernetes/kubernetes, cluster/gce/gci/configure-helper.sh.

_GKE = "/home/kubernetes/bin/nvidia"
_GKE_CONTAINERD = """version = 2
required_plugins = ["io.containerd.grpc.v1.cri"]
disabled_plugins = ["io.containerd.internal.v1.restart"]
oom_score = -999

[debug]
  level = "info"

[plugins."io.containerd.grpc.v1.cri"]
  stream_server_address = "127.0.0.1"
  max_container_log_line_size = 262144
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/home/kubernetes/bin"
  conf_dir = "/etc/cni/net.d"
[plugins."io.containerd.grpc.v1.cri".containerd]
  default_runtime_name = "runc"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
"""
_GKE_KUBELET = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupDriver: systemd\ncgroupRoot: /\nclusterDomain: cluster.local\n"


@claims(
    source="container-engine-accelerators, nvidia-driver-installer/cos/daemonset-preloaded-latest.yaml; cos_gpu_installer",
)
def gke_cos(root: Path) -> Tree:
    """GKE on Container-Optimized OS: its installer and its device plugin bring the driver to containers, from a place of their own."""
    tree = Tree(root, kernel="6.6.105+", driver=DRIVER)
    tree.libraries = "/usr/lib64"
    _gke(tree, "cos", "gke-prod-l4-3f1b")
    driver.cache(tree)
    tree.write("/etc/cos-package-info.json", '{"installedPackages": []}\n')
    return tree


def _gke(tree: Tree, distribution: str, name: str) -> None:
    system.install_os(tree, distribution, name)
    _kernel(tree, "" if distribution == "cos" else "vmlinuz-{0} initrd.img-{0} config-{0}")
    system.boot(tree, name)
    _board(tree, "Google", "Google Compute Engine")
    driver.install_userland(tree, directory=f"{_GKE}/lib64", cached=False, time=BOOTED_AT + 200)
    tree.remove("/usr/lib/firmware")
    for file in ("gsp_ga10x.bin", "gsp_tu10x.bin"):
        tree.write(f"{_GKE}/firmware/nvidia/{tree.driver}/{file}", "firmware\n")
    for file in ("nvidia-smi", "nvidia-persistenced", "nvidia-modprobe"):
        tree.remove(f"/usr/bin/{file}")
        tree.program(f"{_GKE}/bin/{file}")
    tree.write(f"{_GKE}/drivers/nvidia.ko", b"\x7fELF")
    driver.load_driver(tree)
    gpus.install_gpus(tree, L4, gpus.HGX[:2])
    _gvnic(tree, 8896 if distribution == "cos" else 1460)
    _containerd(tree, _GKE_CONTAINERD)
    tree.write("/home/kubernetes/kube-env", "KUBERNETES_MASTER: false\n")
    tree.program("/home/kubernetes/bin/configure-helper.sh")
    _kubelet(tree, "/home/kubernetes/kubelet-config.yaml", _GKE_KUBELET, _ENDPOINT, program="/home/kubernetes/bin/kubelet")
    tree.socket("/var/lib/kubelet/device-plugins/nvidiaGPU-1762754460.sock")
    _chrony(tree)


def _gvnic(tree: Tree, mtu: int) -> None:
    """Google's own interface; its MTU is that of the network, 1460 unless somebody chose another up to 8896 (Google Cloud, VPC: MTU)."""
    card = pcibus.Card(0x1AE0, 0x0042, "gvnic", speed="2.5 GT/s PCIe", width=1, prefix="42:01:0a", mbps=50000)
    pcibus.nic(tree, card, pcibus.Place("0000:00:05.0", 0, "0-55"), netdev=Netdev("eth0", mtu, addresses=("10.128.0.27/32",)))


@claims("runtime.nvidia_handler", never=(*PACKAGES, *RUNTIME_CONFIGURATION), twin="gke-cos")
def gke_cos_without_plugin(root: Path) -> Tree:
    """GKE's device plugin is gone: nothing mounts the driver into containers."""
    tree = gke_cos(root)
    tree.remove("/var/lib/kubelet/device-plugins/nvidiaGPU-1762754460.sock")
    return tree


@claims(source="container-engine-accelerators, nvidia-driver-installer/ubuntu/entrypoint.sh")
def gke_ubuntu(root: Path) -> Tree:
    """GKE on Ubuntu: the same places, and the installer runs ldconfig (nvidia-driver-installer/ubuntu/entrypoint.sh)."""
    tree = Tree(root, kernel="6.8.0-1042-gke", driver=DRIVER)
    _gke(tree, "ubuntu2204", "gke-prod-l4-ubuntu-77c0")
    tree.write(f"{_GKE}/.cache", f"CACHE_KERNEL_VERSION={tree.kernel}\nCACHE_NVIDIA_DRIVER_VERSION={tree.driver}\n")
    driver.cache(tree, f"{_GKE}/lib64")
    packages.dpkg(
        tree, {"apt": "2.4.14", "containerd": "2.1.5-0ubuntu1", f"linux-image-{tree.kernel}": "6.8.0-1042.46", "bash": "5.1-6ubuntu1.1"}
    )
    return tree


@claims("driver.library_present", never=PACKAGES, twin="gke-ubuntu")
def gke_ubuntu_libraries_empty(root: Path) -> Tree:
    """The installer was ended half-way: the library of CUDA is empty."""
    tree = gke_ubuntu(root)
    tree.write(f"{_GKE}/lib64/libcuda.so.{tree.driver}", "")
    return tree


# Talos: siderolabs/extensions, nvidia-gpu/nvidia-driver/userspace/lts, nvidia-container-toolkit (10-nvidia-container-runtime.part,
# nvidia-cdi-gen.yaml, nvidia-persistenced.yaml); siderolabs/talos, internal/app/machined (CRIConfigPartsController, /etc/cri/containerd.toml).

_GLIBC = "/usr/local/glibc"
_TALOS_CONTAINERD = """version = 3

disabled_plugins = [
    "io.containerd.differ.v1.erofs",
    "io.containerd.internal.v1.tracing",
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.snapshotter.v1.erofs",
    "io.containerd.ttrpc.v1.otelttrpc",
    "io.containerd.tracing.processor.v1.otlp",
]

imports = [
    "/etc/cri/conf.d/cri.toml",
]

[debug]
level = "info"
format = "json"
"""
_TALOS_NVIDIA = """[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
  privileged_without_host_devices = false
  runtime_engine = ""
  runtime_root = ""
  runtime_type = "io.containerd.runc.v2"
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
    BinaryName = "/usr/local/bin/nvidia-container-runtime"
"""
_TALOS_CRI = """version = 3

[plugins]
  [plugins."io.containerd.cri.v1.images"]
    discard_unpacked_layers = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    base_runtime_spec = "/etc/cri/conf.d/base-spec.json"
    runtime_type = "io.containerd.runc.v2"

"""


@claims(source="siderolabs/extensions, nvidia-gpu (userspace/lts, nvidia-container-toolkit)")
def talos(root: Path) -> Tree:
    """Talos with the extensions of the open module and of the toolkit; it has no systemd and no packages."""
    tree = Tree(root, kernel="6.12.57-talos", driver=DRIVER)
    name = "talos-gpu-4"
    system.install_os(tree, "talos", name)
    _kernel(tree)
    system.boot(tree, name, cmdline="init_on_alloc=1 slab_nomerge= pti=on module.sig_enforce=1 talos.platform=metal")
    tree.remove("/run/systemd")
    tree.write("/proc/1/comm", "init\n")
    tree.edit("/proc/1/stat", "(systemd)", "(init)")
    tree.edit("/proc/1/cgroup", "/init.scope", "/init")
    tree.remove("/usr/lib/systemd")
    tree.write("/sys/module/module/parameters/sig_enforce", "Y\n")
    driver.install_module(tree, tree.kernel, directory="kernel/drivers/video", suffix=".ko", signer="Build time autogenerated kernel key")
    driver.install_userland(tree, directory=f"{_GLIBC}/usr/lib64", cached=False)
    for file in ("nvidia-smi", "nvidia-persistenced", "nvidia-modprobe"):
        tree.remove(f"/usr/bin/{file}")
    for file in ("nvidia-container-runtime", "nvidia-ctk", "nvidia-cdi-hook", "nvidia-persistenced-wrapper"):
        tree.program(f"/usr/local/bin/{file}")
    for file in ("nvidia-ctk", "nvidia-cdi-hook"):
        tree.link(f"/usr/bin/{file}", f"/usr/local/bin/{file}")
    tree.programs["/usr/bin/nvidia-ctk", "--version"] = "NVIDIA Container Toolkit CLI version 1.19.1\ncommit: 889a3bb5\n"
    tree.write("/usr/local/lib/modprobe.d/nvidia.conf", "blacklist nouveau\nalias nouveau off\n")
    driver.load_driver(tree)
    gpus.install_gpus(tree, L4, gpus.HGX[:1])
    driver.persist(tree)
    tree.directory("/usr/local/etc/containers")
    argv = ("--address", _SOCKET, "--config", "/etc/cri/containerd.toml")
    _containerd(tree, _TALOS_CONTAINERD, *argv, path="/etc/cri/containerd.toml", unit="")
    tree.write("/etc/cri/conf.d/cri.toml", _TALOS_CRI + _TALOS_NVIDIA, time=BOOTED_AT + 5)
    tree.write("/etc/cri/conf.d/10-nvidia-container-runtime.part", _TALOS_NVIDIA)
    _kubelet(tree, "/etc/kubernetes/kubelet.yaml", _TALOS_KUBELET, program="/usr/local/bin/kubelet", unit="")
    rootfs = "/run/containerd/io.containerd.runtime.v2.task/system/kubelet/rootfs"
    tree.directory(rootfs)
    tree.link("/proc/1201/root", rootfs)
    for group in ("runtime", "kubelet"):
        tree.write(f"/sys/fs/cgroup/podruntime/{group}/cgroup.events", "populated 1\nfrozen 0\n")
    tree.libraries = f"{_GLIBC}/usr/lib64"
    tree.program(f"{_GLIBC}/usr/bin/nvidia-smi")
    containers.cdi(tree, 1)
    tree.edit("/var/run/cdi/nvidia.yaml", "/usr/bin/nvidia-smi", f"{_GLIBC}/usr/bin/nvidia-smi", time=BOOTED_AT + 60)
    return tree


@claims("toolkit.installed", never=(*PACKAGES, *RUNTIME_CONFIGURATION), twin="talos")
def talos_without_toolkit(root: Path) -> Tree:
    """The image was made without the toolkit's extension: containerd has no nvidia runtime and nothing makes a specification."""
    tree = talos(root)
    for path in ("/etc/cri/conf.d/10-nvidia-container-runtime.part", "/var/run/cdi/nvidia.yaml"):
        tree.remove(path)
    tree.write("/etc/cri/conf.d/cri.toml", _TALOS_CRI, time=BOOTED_AT + 5)
    for file in ("nvidia-container-runtime", "nvidia-ctk", "nvidia-cdi-hook"):
        tree.remove(f"/usr/local/bin/{file}")
    return tree


_TALOS_KUBELET = (
    "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\ncgroupRoot: /\nsystemCgroups: /system\n"
    "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n"
)

# Bottlerocket: bottlerocket-os/bottlerocket-kernel-kit, packages/kmod-6.12-nvidia-r580 (spec, tmpfiles); bottlerocket-core-kit,
# packages/containerd-2.1/containerd-config-toml_k8s_nvidia_containerd_sock and packages/nvidia-container-toolkit.

_BOTTLEROCKET = "/x86_64-bottlerocket-linux-gnu/sys-root/usr/lib/nvidia/tesla"
_BOTTLEROCKET_HANDLER = """
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{0}]
runtime_type = "io.containerd.runc.v2"
base_runtime_spec = "/etc/containerd/cri-base.json"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.{0}.options]
SystemdCgroup = true
BinaryName = "{1}"
"""
_BOTTLEROCKET_CONTAINERD = """version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
disabled_plugins = [
    "io.containerd.internal.v1.opt",
    "io.containerd.internal.v1.tracing",
    "io.containerd.snapshotter.v1.blockfile",
    "io.containerd.snapshotter.v1.devmapper",
]

imports = ["/etc/containerd/config.d/*.toml"]

[grpc]
address = "/run/containerd/containerd.sock"

[plugins."io.containerd.cri.v1.images".pinned_images]
sandbox = "localhost/kubernetes/pause:0.1.0"

[plugins."io.containerd.cri.v1.runtime"]
device_ownership_from_security_context = false
enable_selinux = true

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "nvidia"
""" + "".join(
    _BOTTLEROCKET_HANDLER.format(name, binary)
    for name, binary in (
        ("nvidia", "nvidia-container-runtime"), ("nvidia-cdi", "nvidia-container-runtime.cdi"), ("nvidia-legacy", "nvidia-container-runtime.legacy"),
    )
)  # fmt: skip
_BOTTLEROCKET_TOOLKIT = (
    "accept-nvidia-visible-devices-as-volume-mounts = true\naccept-nvidia-visible-devices-envvar-when-unprivileged = false\n\n"
    '[nvidia-container-cli]\nroot = "/"\npath = "/usr/bin/nvidia-container-cli"\nenvironment = []\nldconfig = "@/sbin/ldconfig"\n'
)
_TOOLKIT = ("nvidia-cdi-hook", "nvidia-container-cli", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk")


@claims(source="bottlerocket-kernel-kit, kmod-6.12-nvidia-r580.spec; bottlerocket-core-kit, containerd-2.1")
def bottlerocket(root: Path) -> Tree:
    """Bottlerocket's aws-k8s-nvidia variant: libraries in a place of their own that the linker knows, modules linked at boot."""
    tree = Tree(root, kernel="6.12.53", driver=DRIVER)
    name = "ip-192-0-2-71"
    system.install_os(tree, "bottlerocket", name)
    _kernel(tree, "vmlinuz")
    system.boot(tree, name, cmdline="lockdown=integrity")
    _board(tree, "Amazon EC2", "g6.xlarge")
    tree.program("/usr/bin/apiclient")
    tree.append("/proc/1/mounts", "tmpfs /etc tmpfs rw,seclabel,nosuid,nodev,noexec,noatime,mode=755 0 0\n")
    driver.install_module(tree, tree.kernel, directory="kernel/drivers/extra/video/nvidia/open-gpu", suffix=".ko", time=BOOTED_AT + 6)
    driver.install_userland(tree, directory=_BOTTLEROCKET, cached=False)
    driver.cache(tree, _BOTTLEROCKET)
    driver.keep_nouveau_out(tree, "/usr/lib/modprobe.d/nvidia.conf")
    driver.load_driver(tree)
    gpus.install_gpus(tree, L4, gpus.HGX[:1])
    persist(tree)
    for file in (*_TOOLKIT, "nvidia-container-runtime.cdi", "nvidia-container-runtime.legacy"):
        tree.program(f"/usr/bin/{file}")
    tree.programs["/usr/bin/nvidia-ctk", "--version"] = "NVIDIA Container Toolkit CLI version 1.18.1\n"
    tree.write("/etc/nvidia-container-runtime/config.toml", _BOTTLEROCKET_TOOLKIT, time=BOOTED_AT + 8)
    _containerd(tree, _BOTTLEROCKET_CONTAINERD)
    _kubelet(tree, "/etc/kubernetes/kubelet/config", _GKE_KUBELET, _ENDPOINT)
    tree.libraries = _BOTTLEROCKET
    containers.cdi(tree, 1, path="/etc/cdi/nvidia.yaml", time=BOOTED_AT + 12)
    _chrony(tree)
    return tree


@claims("driver.library_present", never=PACKAGES, twin="bottlerocket")
def bottlerocket_ldconfig_failed(root: Path) -> Tree:
    """ldconfig.service failed at boot: neither a program nor the toolkit finds the libraries."""
    tree = bottlerocket(root)
    driver.cache(tree)
    return tree


# Flatcar: flatcar/scripts, x11-drivers/nvidia-drivers/files/bin/setup-nvidia and install-nvidia (the proprietary module, insmod);
# flatcar/sysext-bakery, nvidia-runtime.sysext (containerd/config-nvidia.toml, nvidia-container-runtime/config.toml).

_FLATCAR_CONTAINERD = """version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
subreaper = true
oom_score = -999
disabled_plugins = []

[grpc]
address = "/run/containerd/containerd.sock"
uid = 0
gid = 0

[plugins."io.containerd.runtime.v1.linux"]
shim = "containerd-shim"
runtime = "runc"
no_shim = false

[plugins."io.containerd.grpc.v1.cri"]
enable_selinux = true

[plugins."io.containerd.grpc.v1.cri".containerd]
default_runtime_name = "nvidia"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = true

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
SystemdCgroup = true
"""
_FLATCAR_TOOLKIT = """disable-require = false
supported-driver-capabilities = "compat32,compute,display,graphics,ngx,utility,video"

[nvidia-container-cli]
environment = []
ldconfig = "@/sbin/ldconfig"
load-kmods = true

[nvidia-container-runtime]
log-level = "info"
mode = "auto"
runtimes = ["docker-runc", "runc", "crun"]

[nvidia-container-runtime.modes.cdi]
annotation-prefixes = ["cdi.k8s.io/"]
default-kind = "nvidia.com/gpu"
spec-dirs = ["/etc/cdi", "/var/run/cdi"]
"""


@claims(source="flatcar/scripts, setup-nvidia; flatcar/sysext-bakery, nvidia-runtime.sysext")
def flatcar(root: Path) -> Tree:
    """Flatcar: nvidia.service builds the driver below /opt/nvidia and inserts the module by its path; the toolkit is a system extension."""
    tree = Tree(root, kernel="6.12.61-flatcar", driver=DRIVER, flavour="proprietary")
    name = "flatcar-gpu-2"
    system.install_os(tree, "flatcar", name)
    _kernel(tree, "flatcar/vmlinuz-a")
    system.boot(tree, name, cmdline="flatcar.first_boot=0 mount.usr=/dev/mapper/usr")
    tree.write("/usr/share/flatcar/release", "FLATCAR_RELEASE_VERSION=4459.2.1\n")
    place = f"/opt/nvidia/{tree.driver}/{tree.kernel}"
    tree.link("/opt/nvidia/current", f"{tree.driver}/{tree.kernel}")
    driver.install_userland(tree, directory=f"{place}/usr/lib64", cached=False)
    tree.remove("/lib/firmware")
    driver.cache(tree, "/opt/nvidia/current/usr/lib64")
    tree.write("/etc/ld.so.conf.d/nvidia.conf", "/opt/nvidia/current/usr/lib64\n")
    tree.write(f"{place}/usr/lib/modules/{tree.kernel}/video/nvidia.ko", b"\x7fELF")
    driver.load_driver(tree)
    gpus.install_gpus(tree, gpus.T4, gpus.HGX[:1])
    persist(tree)
    for file in _TOOLKIT:
        tree.program(f"/usr/bin/{file}")
    tree.programs["/usr/bin/nvidia-ctk", "--version"] = "NVIDIA Container Toolkit CLI version 1.18.1\n"
    tree.write("/etc/nvidia-container-runtime/config.toml", _FLATCAR_TOOLKIT)
    _containerd(tree, _FLATCAR_CONTAINERD, "--config", "/etc/containerd/config-nvidia.toml", path="/etc/containerd/config-nvidia.toml")
    _kubelet(tree, "/var/lib/kubelet/config.yaml", _GKE_KUBELET, _ENDPOINT, program="/usr/bin/kubelet")
    system.run(tree, Daemon(610, ("/usr/lib/systemd/systemd-timesyncd",), "systemd-timesyncd.service", started_s=8))
    return tree


@claims("kernel.module_present", never=PACKAGES, twin="flatcar")
def flatcar_after_update(root: Path) -> Tree:
    """The system was updated and nvidia.service failed: the new kernel has no module, the libraries are those of before."""
    tree = flatcar(root)
    for path in ("/sys/module/nvidia", "/proc/driver/nvidia", "/sys/bus/pci/drivers/nvidia"):
        tree.remove(path)
    _unload(tree, 1)
    return tree


# EKS's AMI for Amazon Linux 2023: awslabs/amazon-eks-ami, templates/al2023/provisioners/install-nvidia-driver.sh and
# runtime/gpu (nvidia-kmod-load.sh, kmod-util); nodeadm/internal/containerd/config2.template.toml.

_EKS_CONTAINERD = """version = 3
root = "/var/lib/containerd"
state = "/run/containerd"

[grpc]
address = "/run/containerd/containerd.sock"

[plugins.'io.containerd.cri.v1.images']
discard_unpacked_layers = true

[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = "localhost/kubernetes/pause"

[plugins.'io.containerd.cri.v1.runtime']
enable_cdi = true

[plugins.'io.containerd.cri.v1.runtime'.containerd]
default_runtime_name = "nvidia"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"
base_runtime_spec = "/etc/containerd/base-runtime-spec.json"

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.nvidia.options]
BinaryName = "/usr/bin/nvidia-container-runtime"
SystemdCgroup = true

[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dir = "/opt/cni/bin"
conf_dir = "/etc/cni/net.d"
"""


_EKS_KUBELET = '{"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "cgroupDriver": "systemd"}\n'


@claims(source="awslabs/amazon-eks-ami, templates/al2023 (install-nvidia-driver.sh, nvidia-kmod-load.sh)")
def eks_al2023(root: Path) -> Tree:
    """EKS's accelerated AMI, on a g5: the module that fits the GPU comes out of an archive at boot, the fabric manager is for other types."""
    tree = rhel9_module_streams(root, "amzn2023", "6.12.55-74.119.amzn2023.x86_64")
    tree.flavour = "proprietary"
    _board(tree, "Amazon EC2", "g5.12xlarge")
    for path in ("/etc/dnf/modules.d", "/var/lib/dkms", "/etc/docker", "/usr/bin/dockerd", "/etc/nvidia-container-runtime/config.toml"):
        tree.remove(path)
    system.stop(tree, 1050, "docker.service")
    system.stop(tree, 901, "containerd.service")
    for path in (
        "/usr/lib/systemd/system/docker.service",
        "/etc/systemd/system/multi-user.target.wants/docker.service",
        "/run/docker.sock",
    ):
        tree.remove(path)
    driver.install_dkms(tree, tree.kernel)
    driver.install_module(tree, tree.kernel, directory="extra", suffix=".ko.xz", time=BOOTED_AT + 12)
    driver.load_driver(tree)
    gpus.install_gpus(tree, A10G, gpus.HGX[:4])
    for name in ("nvidia-open", "nvidia", "nvidia-open-grid"):
        tree.write(f"/var/lib/dkms-archive/{name}/{name}-{tree.driver}-kernel{tree.kernel}-x86_64.dkms.tar.gz", "x")
    tree.edit("/proc/driver/nvidia/params", "EnableGpuFirmware: 18", "EnableGpuFirmware: 0")
    tree.write("/etc/modprobe.d/nvidia-disable-gsp.conf", "options nvidia NVreg_EnableGpuFirmware=0\n", time=BOOTED_AT + 8)
    tree.program("/etc/eks/nvidia-kmod-load.sh")
    tree.program("/usr/bin/nodeadm")
    once = system.service("Load NVIDIA kernel modules", "/etc/eks/nvidia-kmod-load.sh", service_more="Type=oneshot\nRemainAfterExit=true\n")
    system.unit(tree, "nvidia-kmod-load.service", once, directory="/etc/systemd/system")
    _eks_packages(tree)
    tree.write("/etc/nvidia-container-runtime/config.toml", _FLATCAR_TOOLKIT.replace("docker-runc", "docker-runc"))
    _containerd(tree, _EKS_CONTAINERD)
    _kubelet(tree, "/etc/kubernetes/kubelet/config.json", _EKS_KUBELET, _ENDPOINT)
    tree.remove("/var/run/cdi/nvidia.yaml")
    containers.cdi(tree, 4)
    return tree


def _eks_packages(tree: Tree) -> None:
    """Of the script: the userland by itself, dkms, fabric manager and IMEX of the same version, the newest toolkit; only the kernel is locked."""
    tree.programs.clear()
    version = f"3:{tree.driver}-1.amzn2023"
    names = (
        "nvidia-driver-cuda",
        "nvidia-driver-cuda-libs",
        "nvidia-driver-libs",
        "nvidia-kmod-common",
        "nvidia-persistenced",
        "nvidia-modprobe",
    )
    packages.rpm(tree, dict.fromkeys((*names, "libnvidia-cfg", "libnvidia-ml", "kmod-nvidia-latest-dkms"), version))
    packages.rpm(tree, {"nvidia-fabricmanager": f"{tree.driver}-1", "nvidia-imex": f"{tree.driver}-1", "nvlsm": "2025.06.6-1"})
    packages.rpm(tree, dict.fromkeys(packages.TOOLKIT, "1.19.1-1"))
    packages.rpm(tree, {"kernel6.12": tree.kernel.removesuffix(".x86_64"), "containerd": "2.1.5-1.amzn2023.0.1"}, vendor="Amazon Linux")
    packages.rpm_files(tree, "nvidia-driver-cuda-libs", f"/usr/lib64/libcuda.so.{tree.driver}")
    packages.rpm_files(tree, "libnvidia-ml", f"/usr/lib64/libnvidia-ml.so.{tree.driver}")
    tree.write("/etc/dnf/plugins/versionlock.list", "kernel*\n")
    tree.remove("/etc/yum.repos.d/cuda-rhel9.repo")
    packages.cuda_rpm_repository(tree, "amzn2023")


@claims("kernel.module_present", twin="eks-al2023")
def eks_al2023_module_did_not_load(root: Path) -> Tree:
    """nvidia-kmod-load.service failed: no module was installed, and none is loaded."""
    tree = eks_al2023(root)
    for path in (
        "/sys/module/nvidia",
        "/proc/driver/nvidia",
        f"/lib/modules/{tree.kernel}/extra",
        "/var/lib/dkms",
        "/var/run/cdi/nvidia.yaml",
    ):
        tree.remove(path)
    system.install_kernel(tree, tree.kernel, headers=False, files="vmlinuz-{0}")
    _unload(tree, 4)
    return tree


@claims(twin="", source="awslabs/amazon-eks-ami, templates/al2023 (kmod-util archive)")
def eks_al2023_image(root: Path) -> Tree:
    """The AMI as it is built: the modules lie in an archive, the one that fits the instance is installed at its first boot."""
    tree = eks_al2023(root)
    for path in (f"/lib/modules/{tree.kernel}/extra", "/var/lib/dkms", "/var/run/cdi", "/etc/modprobe.d/nvidia-disable-gsp.conf"):
        tree.remove(path)
    dep = f"/lib/modules/{tree.kernel}/modules.dep"
    tree.write(dep, "".join(line for line in tree.text(dep).splitlines(keepends=True) if not line.startswith("extra/")))
    return tree


@claims("kernel.module_present", twin="eks-al2023-image")
def eks_al2023_image_of_another_kernel(root: Path) -> Tree:
    """A kernel was put into the image after the archives were made: none is for it."""
    tree = eks_al2023_image(root)
    for name in ("nvidia-open", "nvidia", "nvidia-open-grid"):
        tree.remove(f"/var/lib/dkms-archive/{name}/{name}-{tree.driver}-kernel{tree.kernel}-x86_64.dkms.tar.gz")
        tree.write(f"/var/lib/dkms-archive/{name}/{name}-{tree.driver}-kernel6.12.40-64.114.amzn2023.x86_64-x86_64.dkms.tar.gz", "x")
    return tree


# OpenShift with the GPU Operator: NVIDIA, GPU Operator on Red Hat OpenShift; gpu-driver-container (rhel9), nvidia-container-toolkit's
# nvidia-ctk-installer (CRI-O drop-in); openshift/machine-config-operator, templates/common/_base (kubelet.service, 00-default of CRI-O).

_OPENSHIFT_CRIO = """[crio.runtime]
default_runtime = "crun"
cgroup_manager = "systemd"

[crio.runtime.runtimes.crun]
runtime_root = "/run/crun"
allowed_annotations = ["io.containers.trace-syscall", "io.kubernetes.cri-o.Devices"]

[crio.runtime.runtimes.runc]
runtime_root = "/run/runc"
"""


@claims(source="GPU Operator on Red Hat OpenShift; gpu-driver-container, rhel9")
def openshift(root: Path) -> Tree:
    """Red Hat CoreOS under the GPU Operator: its containers bring driver and toolkit, and its toolkit CRI-O's drop-in."""
    tree = Tree(root, kernel="5.14.0-570.62.1.el9_6.x86_64", driver=DRIVER)
    name = "worker-gpu-0"
    system.install_os(tree, "rhcos", name)
    _kernel(tree, "ostree/rhcos-1/vmlinuz")
    system.boot(tree, name, cmdline="ostree=/ostree/boot.1/rhcos/1/0 rw")
    tree.write("/run/ostree-booted", "")
    tree.directory("/sysroot/ostree/repo")
    tree.write("/sys/fs/selinux/enforce", "1")
    tree.write("/sys/fs/selinux/booleans/container_use_devices", "1 1")
    packages.rpm(
        tree,
        {"cri-o": "1.33.6-2.rhaos4.20.git1.el9", "openshift-kubelet": "4.20.0-1.el9", "kernel-core": tree.kernel.removesuffix(".x86_64")},
        vendor="Red Hat, Inc.",
    )
    container = "/run/nvidia/driver"
    driver.install_userland(tree, directory=f"{container}/usr/lib64", cached=False, time=BOOTED_AT + 300)
    tree.remove("/lib/firmware/nvidia")
    for file in ("gsp_ga10x.bin", "gsp_tu10x.bin"):
        tree.write(f"{container}/lib/firmware/nvidia/{tree.driver}/{file}", "firmware\n", time=BOOTED_AT + 300)
    for file in ("nvidia-smi", "nvidia-persistenced", "nvidia-modprobe"):
        tree.remove(f"/usr/bin/{file}")
    driver.load_driver(tree)
    tree.write("/sys/module/firmware_class/parameters/path", f"{container}/lib/firmware\n")
    tree.append("/proc/1/mountinfo", f"900 22 0:95 / {container} rw,relatime shared:400 - overlay overlay rw\n")
    gpus.install_gpus(tree, L4, gpus.HGX[:2])
    for file in (".driver-ctr-ready", "driver-ready", "toolkit-ready"):
        tree.write(f"/run/nvidia/validations/{file}", "", time=BOOTED_AT + 300)
    pod = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod5c1e.slice/crio-77f0.scope"
    system.run(tree, Daemon(3050, ("nvidia-persistenced", "--persistence-mode"), started_s=290, cgroup=pod, root=container))
    driver.persist(tree)
    toolkit = "/usr/local/nvidia/toolkit"
    for file in ("libnvidia-container.so.1.19.1", "nvidia-ctk", "nvidia-container-runtime", "nvidia-cdi-hook"):
        tree.program(f"{toolkit}/{file}")
    for path in ("/usr/bin/crio", "/usr/bin/crun", "/usr/bin/runc"):
        tree.program(path)
    tree.write("/etc/crio/crio.conf.d/00-default", _OPENSHIFT_CRIO)
    tree.write(
        "/etc/crio/crio.conf.d/99-nvidia.conf",
        f'[crio.runtime.runtimes.nvidia]\nruntime_path = "{toolkit}/nvidia-container-runtime"\nruntime_type = "oci"\n',
    )
    system.unit(tree, "crio.service", system.service("Container Runtime Interface for OCI (CRI-O)", "/usr/bin/crio"))
    system.run(tree, Daemon(902, ("/usr/bin/crio",), "crio.service", ("/run/crio/crio.sock",), started_s=400))
    _kubelet(tree, "/etc/kubernetes/kubelet.conf", _GKE_KUBELET, "--container-runtime-endpoint=/var/run/crio/crio.sock")
    _chrony(tree)
    return tree


@claims("driver.loaded", never=PACKAGES, twin="openshift")
def openshift_driver_pod_gone(root: Path) -> Tree:
    """The driver container is gone and took the module along."""
    tree = openshift(root)
    for path in ("/sys/module/nvidia", "/proc/driver/nvidia", "/run/nvidia/driver", "/run/nvidia/validations", "/run/nvidia-persistenced"):
        tree.remove(path)
    system.stop(tree, 3050)
    tree.write("/sys/module/firmware_class/parameters/path", "\n")
    _unload(tree, 2)
    return tree


#: Tree and profile by name.
RECIPES = {
    "gke-cos": (gke_cos, "gke"),
    "gke-cos-without-plugin": (gke_cos_without_plugin, "gke"),
    "gke-ubuntu": (gke_ubuntu, "gke"),
    "gke-ubuntu-libraries-empty": (gke_ubuntu_libraries_empty, "gke"),
    "talos": (talos, "default"),
    "talos-without-toolkit": (talos_without_toolkit, "default"),
    "bottlerocket": (bottlerocket, "any"),
    "bottlerocket-ldconfig-failed": (bottlerocket_ldconfig_failed, "any"),
    "flatcar": (flatcar, "any"),
    "flatcar-after-update": (flatcar_after_update, "any"),
    "openshift": (openshift, "gpu-operator-26.3"),
    "openshift-driver-pod-gone": (openshift_driver_pod_gone, "gpu-operator-26.3"),
    "eks-al2023": (eks_al2023, "default"),
    "eks-al2023-image": (eks_al2023_image, "default"),
    "eks-al2023-image-of-another-kernel": (eks_al2023_image_of_another_kernel, "default"),
    "eks-al2023-module-did-not-load": (eks_al2023_module_did_not_load, "default"),
}
