"""Hosts by the daemons of their fabric: IMEX by the host and by the DRA driver, the fabric manager."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tests.trees import hosts, system
from tests.trees.claim import claims
from tests.trees.others import gb200_nvl
from tests.trees.system import Daemon
from tests.trees.tree import BOOTED_AT, Tree

_IMEX = (880, "nvidia-imex.service")
_PLUGINS = "/var/lib/kubelet/plugins"
_POD = "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podc41d.slice/cri-containerd-19ab.scope"
_WEEK_S = 7 * 86400


@claims(
    "nvswitch.imex_twice",
    twin="gb200-nvl",
    source="kubernetes-sigs/dra-driver-nvidia-gpu issue 524, and its Prerequisites; NVIDIA/aicr pull request 2520",
)
def gb200_imex_twice(root: Path) -> Tree:
    """The node's own IMEX runs, and the compute-domain plug-in of the DRA driver was installed, which starts IMEX in pods."""
    tree = gb200_nvl(root)
    _compute_domains(tree)
    return tree


@claims(source="kubernetes-sigs/dra-driver-nvidia-gpu, Prerequisites, Driver-managed IMEX")
def gb200_imex_in_pods(root: Path) -> Tree:
    """The DRA driver runs IMEX for each ComputeDomain; the unit of the package is masked, its list is as the package left it."""
    tree = gb200_nvl(root)
    system.stop(tree, *_IMEX)
    tree.remove("/etc/systemd/system/multi-user.target.wants/nvidia-imex.service")
    tree.link("/etc/systemd/system/nvidia-imex.service", "/dev/null")
    tree.write("/etc/nvidia-imex/nodes_config.cfg", "")
    _compute_domains(tree, "7f6ab1f5-2a0e-4a53-9d5e-0a8f7cf0b411")
    return tree


@claims(source="kubernetes-sigs/dra-driver-nvidia-gpu, Prerequisites, Host-managed IMEX, and pull request 1236")
def gb200_imex_for_pods(root: Path) -> Tree:
    """The node's own IMEX has a command socket, and the DRA driver is set up to use it (imex.mode=hostManaged)."""
    tree = gb200_nvl(root)
    tree.write(
        "/etc/nvidia-imex/config.cfg", "LOG_LEVEL=4\nIMEX_CMD_ENABLED=1\nIMEX_CMD_UNIX_DOMAIN_PATH=/etc/nvidia-imex/imex_ctrl.sock\n"
    )
    tree.write("/var/log/nvidia-imex.log", _log(tree.driver, *range(18)))
    _compute_domains(tree)
    return tree


@claims("nvswitch.imex_enabled", twin="gb200-nvl", source="NVIDIA IMEX Service Guide, Managing the IMEX Service")
def gb200_imex_ended(root: Path) -> Tree:
    """IMEX is enabled and has its list, and its process is gone: nothing of the profile asks for it."""
    tree = gb200_nvl(root)
    system.stop(tree, *_IMEX)
    return tree


@claims("nvswitch.imex_log", twin="gb200-nvl", source="NVIDIA IMEX Service Guide, Connections, Quorum, and Clean up")
def gb200_imex_alone(root: Path) -> Tree:
    """IMEX runs, and each of its peers refuses the connection: a rule of the firewall came with the last update."""
    tree = gb200_nvl(root)
    refused = "".join(
        f"[Nov 10 2026 06:01:{node:02}] [WARNING] [tid 902] Failed to connect to node {node} - 192.0.2.{node + 1}:50000: Connection refused\n"
        for node in range(1, 18)
    )
    tree.write("/var/log/nvidia-imex.log", _log(tree.driver, 0) + refused)
    return tree


@claims(twin="hgx-h100-ubuntu2404", source="NVIDIA/nccl issues 976 and 1488")
def hgx_h100_manager_restarted(root: Path) -> Tree:
    """The fabric manager was restarted a week after the boot, and the GPUs were not reset: worth knowing."""
    tree = hosts.hgx_h100(root)
    system.stop(tree, 870, "nvidia-fabricmanager.service")
    argv = ("/usr/bin/nv-fabricmanager", "-c", "/usr/share/nvidia/nvswitch/fabricmanager.cfg")
    system.run(tree, Daemon(51207, argv, "nvidia-fabricmanager.service", started_s=_WEEK_S))
    first = tree.text("/var/log/fabricmanager.log")
    tree.append("/var/log/fabricmanager.log", first.replace("Nov 10", "Nov 17").replace("tid 870", "tid 51207"), time=BOOTED_AT + _WEEK_S)
    return tree


def _compute_domains(tree: Tree, *domains: str) -> None:
    """What the DRA driver's plug-ins leave on a node; they run in containers, and so under no name that counts."""
    for name in ("compute-domain.nvidia.com", "gpu.nvidia.com"):
        tree.write(f"{_PLUGINS}/{name}/checkpoint.json", "{}\n")
        tree.socket(f"{_PLUGINS}/{name}/dra.sock")
        tree.socket(f"/var/lib/kubelet/plugins_registry/{name}-reg.sock")
    for domain in domains:
        tree.write(f"{_PLUGINS}/compute-domain.nvidia.com/domains/{domain}/imexd.cfg.tmpl", "IMEX_CMD_ENABLED=1\n")
    for number, domain in enumerate(domains):
        argv = ("/usr/bin/nvidia-imex", "-c", "/imexd/imexd.cfg")
        system.run(tree, Daemon(3400 + number, argv, started_s=300, cgroup=_POD, ids=2, root=f"/run/imex/{domain}"))
    process = Daemon(3310, ("compute-domain-kubelet-plugin", "-v", "6"), started_s=120, cgroup=_POD, ids=2)
    system.run(tree, process, replace(process, pid=3311, argv=("gpu-kubelet-plugin", "-v", "6")))


def _log(version: str, *connected: int) -> str:
    """The log of a start after which IMEX reached these nodes."""
    begin = "[Nov 10 2026 06:00:22] [INFO] [tid 880] "
    lines = (
        f"IMEX version {version} is running with the following configuration options:",
        "Logging level = 4",
        "Identified this node as ID 0, using bind IP of '192.0.2.1', and network interface of enP5p9s0",
        "NvGpu Library version matched with GPU Driver version",
        "IMEX_WAIT_FOR_QUORUM != FULL, continuing initialization without waiting for connections to all nodes.",
        *(f"Connection established to node {node} with ip address 192.0.2.{node + 1}. Number of times connected: 1" for node in connected),
        "GPU event successfully subscribed",
    )
    return "".join(f"{begin}{line}\n" for line in lines)


RECIPES: dict[str, Callable[[Path], Tree]] = {
    "gb200-imex-twice": gb200_imex_twice,
    "gb200-imex-in-pods": gb200_imex_in_pods,
    "gb200-imex-for-pods": gb200_imex_for_pods,
    "gb200-imex-ended": gb200_imex_ended,
    "gb200-imex-alone": gb200_imex_alone,
    "hgx-h100-manager-restarted": hgx_h100_manager_restarted,
}
