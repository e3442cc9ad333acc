"""Hosts by what their role needs to run: a kubelet, a runtime and a device plug-in that live; each healthy, and with one named change.

Sources: kubernetes/release, kubeadm's kubelet.service; systemd, sd-messages.h and service_enter_restart() of service.c for its records in
the journal; Kubernetes, pkg/kubelet/cm/devicemanager (a plug-in that is gone).
"""

from pathlib import Path

from tests.trees import clouds, containers, hosts, kubelets, packages, serving, system
from tests.trees.claim import claims
from tests.trees.others import k3s_worker
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, NOW, Tree

_KUBELET, _KUBELET_PID, _CONTAINERD_PID = "kubelet.service", 1201, 901


def log_restarts(tree: Tree, unit: str, *seconds_ago: int) -> None:
    """Records of process 1 in the journal, as ``journalctl -o short-unix`` prints them."""
    lines = (
        f"{NOW - ago}.004711 systemd[1]: {unit}: Scheduled restart job, restart counter is at {number}.\n"
        for number, ago in enumerate(sorted(seconds_ago, reverse=True), 1)
    )
    tree.programs["journalctl", "-b", "0"] = tree.programs.get(("journalctl", "-b", "0"), "") + "".join(lines)


def started_ago(tree: Tree, daemon: Daemon, seconds: int) -> None:
    """The daemon's process is as young as this."""
    tree.remove(f"/proc/{daemon.pid}")
    system.run(tree, Daemon(daemon.pid, daemon.argv, daemon.unit, daemon.sockets, NOW - BOOTED_AT - seconds))


@claims("kubelet.running", twin="eks-gpu", source="awslabs/amazon-eks-ami, nodeadm")
def kubelet_dead(root: Path) -> Tree:
    """The kubelet was ended and nothing starts it again; containerd goes on."""
    tree = serving.eks_gpu(root)
    system.stop(tree, _KUBELET_PID, _KUBELET)
    return tree


@claims("kubelet.running", twin="eks-al2023", source="awslabs/amazon-eks-ami, nodeadm/internal/kubelet/daemon.go (EnsureRunning)")
def eks_al2023_kubelet_dead(root: Path) -> Tree:
    """nodeadm started the kubelet, whose unit no link enables, and it ended."""
    tree = clouds.eks_al2023(root)
    once = system.service("EKS Nodeadm Run", "/usr/bin/nodeadm init --skip config", service_more="Type=oneshot\n")
    system.unit(tree, "nodeadm-run.service", once, directory="/etc/systemd/system")
    tree.write("/var/lib/kubelet/kubeconfig", "x", mode=0o600)
    tree.remove(f"/etc/systemd/system/multi-user.target.wants/{_KUBELET}")
    system.stop(tree, _KUBELET_PID, _KUBELET)
    return tree


@claims("kubelet.running", twin="talos", source="siderolabs/talos, pkg/machinery/constants (CgroupKubelet)")
def talos_kubelet_dead(root: Path) -> Tree:
    """The container of Talos's kubelet ended; containerd goes on."""
    tree = clouds.talos(root)
    tree.remove(f"/proc/{_KUBELET_PID}")
    tree.remove("/sys/fs/cgroup/podruntime/kubelet")
    return tree


@claims("host.service_restarts", twin="kubeadm-beside-docker", source="systemd, service_enter_restart() of service.c")
def kubelet_restarts(root: Path) -> Tree:
    """The kubelet ends some seconds after each start, and this look finds it running."""
    tree = serving.kubeadm_beside_docker(root)
    argv = ("/usr/bin/kubelet", "--config=/var/lib/kubelet/config.yaml")
    started_ago(tree, Daemon(_KUBELET_PID, argv, _KUBELET), 4)
    log_restarts(tree, _KUBELET, *range(4, 600, 14))
    return tree


@claims("host.service_restarts", twin="eks-gpu", source="systemd, service_enter_restart() of service.c")
def containerd_restarts(root: Path) -> Tree:
    """containerd panics whenever it lists its containers."""
    tree = serving.eks_gpu(root)
    started_ago(tree, Daemon(_CONTAINERD_PID, ("/usr/bin/containerd",), "containerd.service", ("/run/containerd/containerd.sock",)), 2)
    log_restarts(tree, "containerd.service", *range(2, 600, 9))
    log_restarts(tree, _KUBELET, *range(5, 600, 40))
    return tree


@claims(twin="eks-gpu", source="systemd, service_enter_restart() of service.c")
def containerd_recovered(root: Path) -> Tree:
    """A failed upgrade of containerd made it restart for some time; it has run since."""
    tree = serving.eks_gpu(root)
    started_ago(tree, Daemon(_CONTAINERD_PID, ("/usr/bin/containerd",), "containerd.service", ("/run/containerd/containerd.sock",)), 240)
    log_restarts(tree, "containerd.service", *range(240, 600, 9))
    return tree


@claims(source="kubernetes/release, kubelet.service and 10-kubeadm.conf")
def docker_with_kubelet_package(root: Path) -> Tree:
    """A Docker host on which kubeadm was installed and never run: its kubelet waits in a crash loop for a configuration."""
    tree = serving.worker(root, "lab-gpu-5")
    containers.install_docker(tree, {"runtimes": {"nvidia": {"args": [], "path": "nvidia-container-runtime"}}})
    packages.dpkg(tree, {"containerd.io": "1.7.28-1~ubuntu.24.04~noble", "docker-ce": "5:28.5.2-1~ubuntu.24.04~noble"})
    packages.dpkg(tree, {"kubelet": "1.34.2-1.1", "kubeadm": "1.34.2-1.1"})
    kubelets.kubeadm(tree)
    system.stop(tree, _KUBELET_PID, _KUBELET)
    for path in (f"{kubelets.ROOT}/config.yaml", f"{kubelets.ROOT}/kubeadm-flags.env"):
        tree.remove(path)
    log_restarts(tree, _KUBELET, *range(3, 600, 10))
    return tree


@claims("kubelet.config_accepted", source="kubernetes/release, kubelet.service and 10-kubeadm.conf")
def kubelet_lost_its_file(root: Path) -> Tree:
    """A node that has joined its cluster lost the kubelet's configuration: the kubelet does not start."""
    tree = docker_with_kubelet_package(root)
    tree.write("/etc/kubernetes/kubelet.conf", "apiVersion: v1\nkind: Config\n")
    return tree


@claims("runtime.service_running", twin="k3s-worker")
def k3s_dead(root: Path) -> Tree:
    """The k3s agent is down, and with it its containerd and its kubelet."""
    tree = k3s_worker(root)
    for pid in (901, 950):
        system.stop(tree, pid)
    tree.remove("/sys/fs/cgroup/system.slice/k3s-agent.service")
    return tree


@claims(twin="kubeadm-beside-docker", source="systemd, service_enter_restart() of service.c")
def kubelet_first_minute(root: Path) -> Tree:
    """A minute after the boot the kubelet has ended twice, because its network was not there, and waits for its next start."""
    tree = serving.kubeadm_beside_docker(root)
    tree.edit("/proc/stat", f"btime {BOOTED_AT}", f"btime {NOW - 60}")
    tree.write("/proc/uptime", "60.00 1.00\n")
    system.stop(tree, _KUBELET_PID, _KUBELET)
    log_restarts(tree, _KUBELET, 14, 3)
    return tree


@claims("kubelet.plugin_gone", twin="hgx-h100-ubuntu2404", source="Kubernetes, pkg/kubelet/cm/devicemanager, manager.go")
def hgx_h100_plugin_gone(root: Path) -> Tree:
    """The device plug-in's pod has ended: the kubelet knows nvidia.com/gpu, and has no device of it."""
    tree = hosts.hgx_h100(root)
    kubelets.give_devices(tree, {"nvidia.com/gpu": []})
    return tree


@claims(twin="hgx-h100-ubuntu2404", source="Kubernetes, pkg/kubelet/cm/devicemanager, manager.go")
def hgx_h100_plugin_starting(root: Path) -> Tree:
    """The kubelet was restarted two minutes ago, and its device plug-in registers again."""
    tree = hgx_h100_plugin_gone(root)
    words = tree.text(f"/proc/{_KUBELET_PID}/cmdline").rstrip("\0").split("\0")
    started_ago(tree, Daemon(_KUBELET_PID, tuple(words), _KUBELET), 120)
    log_restarts(tree, _KUBELET)
    return tree


# A daemon's own environment: containerd, cmd/containerd/command (--config, --address); k3s, Agent Configuration (--data-dir); the Container
# Device Interface, pkg/cdi/spec-dirs.go (later directories have the higher priority).


@claims(source="containerd, docs/getting-started.md; containerd/nerdctl, docs/gpu.md")
def containerd_alone(root: Path) -> Tree:
    """containerd for nerdctl, by Docker's package: CRI is off, and no kubelet is installed."""
    tree = serving.worker(root, "render-3")
    containers.install_containerd(tree)
    tree.remove("/etc/containerd/conf.d")
    tree.write("/etc/containerd/config.toml", 'disabled_plugins = ["cri"]\n')
    packages.dpkg(tree, {"containerd.io": "2.1.5-1~ubuntu.24.04~noble"})
    tree.program("/usr/local/bin/nerdctl")
    containers.cdi(tree, 1)
    return tree


def _stale_copy(root: Path, directories: str) -> Tree:
    tree = serving.kubeadm_beside_docker(root)
    tree.edit("/etc/containerd/config.toml", 'cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]', f"cdi_spec_dirs = {directories}")
    system.stop(tree, 1050, "docker.service")
    for path in ("/usr/lib/systemd/system/docker.service", "/etc/systemd/system/multi-user.target.wants/docker.service"):
        tree.remove(path)
    containers.cdi(tree, 1)
    containers.cdi(tree, 1, path="/etc/cdi/nvidia.yaml", version="570.172.08", time=BOOTED_AT - 86400)
    return tree


@claims("cdi.driver_version", twin="cdi-etc-wins", source="CDI specification, spec directories")
def cdi_run_wins(root: Path) -> Tree:
    """An old copy in /etc/cdi, and a new specification in the directory that the runtime reads last."""
    return _stale_copy(root, '["/etc/cdi", "/var/run/cdi"]')


@claims("cdi.driver_version", source="CDI specification, spec directories; containerd, docs/cri/config.md")
def cdi_etc_wins(root: Path) -> Tree:
    """The runtime reads /etc/cdi last: an old copy there hides the new specification."""
    return _stale_copy(root, '["/var/run/cdi", "/etc/cdi"]')


@claims(source="k3s documentation, Agent Configuration: --data-dir")
def k3s_data_dir(root: Path) -> Tree:
    """A k3s agent with its data on another disk."""
    tree = k3s_worker(root)
    old, new = "/var/lib/rancher/k3s", "/data/k3s"
    name = "agent/etc/containerd/config.toml"
    tree.write(f"{new}/{name}", tree.text(f"{old}/{name}").replace(old, new), time=BOOTED_AT + 21)
    program = "data/current/bin/containerd"
    tree.program(f"{new}/{program}")
    tree.programs[f"{new}/{program}", "--version"] = tree.programs[f"{old}/{program}", "--version"]
    tree.remove(old)
    system.stop(tree, 950)
    argv = ("containerd", "-c", f"{new}/{name}")
    system.run(tree, Daemon(950, argv, "k3s-agent.service", ("/run/k3s/containerd/containerd.sock",), 24))
    return tree


@claims(twin="eks-gpu", source="systemd.exec(5), Environment=")
def containerd_own_path(root: Path) -> Tree:
    """The program of the nvidia entry is in a directory that only containerd's unit has in its PATH."""
    tree = serving.eks_gpu(root)
    tree.program("/opt/nvidia/bin/nvidia-container-runtime.cdi")
    tree.edit("/etc/containerd/config.toml", "/usr/bin/nvidia-container-runtime", "nvidia-container-runtime.cdi")
    tree.write(f"/proc/{_CONTAINERD_PID}/environ", "HTTPS_PROXY=http://hunter2@192.0.2.7\0PATH=/opt/nvidia/bin:/usr/bin\0TOKEN=hunter2\0")
    return tree


@claims("runtime.handler_binary", twin="containerd-own-path", source="systemd.exec(5), Environment=")
def containerd_other_path(root: Path) -> Tree:
    """containerd's PATH lost that directory."""
    tree = containerd_own_path(root)
    tree.write(f"/proc/{_CONTAINERD_PID}/environ", "PATH=/usr/sbin:/usr/bin\0")
    return tree


RECIPES = {
    "kubelet-dead": kubelet_dead,
    "eks-al2023-kubelet-dead": eks_al2023_kubelet_dead,
    "talos-kubelet-dead": talos_kubelet_dead,
    "kubelet-restarts": kubelet_restarts,
    "containerd-restarts": containerd_restarts,
    "containerd-recovered": containerd_recovered,
    "docker-with-kubelet-package": docker_with_kubelet_package,
    "kubelet-lost-its-file": kubelet_lost_its_file,
    "k3s-dead": k3s_dead,
    "kubelet-first-minute": kubelet_first_minute,
    "hgx-h100-plugin-gone": hgx_h100_plugin_gone,
    "hgx-h100-plugin-starting": hgx_h100_plugin_starting,
    "containerd-alone": containerd_alone,
    "cdi-run-wins": cdi_run_wins,
    "cdi-etc-wins": cdi_etc_wins,
    "k3s-data-dir": k3s_data_dir,
    "containerd-own-path": containerd_own_path,
    "containerd-other-path": containerd_other_path,
}
