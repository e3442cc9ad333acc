"""Container runtimes, the NVIDIA Container Toolkit and CDI specifications of a host."""

import json

from tests.trees.driver import UVM_MAJOR
from tests.trees.system import Daemon, run, service, unit
from tests.trees.tree import BOOTED_AT, Tree

_BINARIES = ("nvidia-cdi-hook", "nvidia-container-cli", "nvidia-container-runtime", "nvidia-container-runtime-hook", "nvidia-ctk")
_REFRESH = (
    "[Unit]\nDescription=Refresh NVIDIA CDI specification file\nConditionPathExists=/usr/bin/nvidia-ctk\n{after}\n"
    "[Service]\nType=oneshot\nEnvironmentFile=-/etc/nvidia-container-toolkit/nvidia-cdi-refresh.env\n"
    "ExecStart=/usr/bin/nvidia-ctk cdi generate\nRemainAfterExit=yes\n\n[Install]\nWantedBy=multi-user.target\n"
)
_REFRESH_PATH = (
    "[Unit]\nDescription=Trigger NVIDIA CDI refresh on driver changes\n\n[Path]\nPathChanged=/lib/modules/%v/modules.dep\n"
    "PathChanged=/lib/modules/%v/modules.dep.bin\n\n[Install]\nWantedBy=multi-user.target\n"
)
_TOOLKIT_CONFIG = """#accept-nvidia-visible-devices-as-volume-mounts = false
disable-require = false
supported-driver-capabilities = "compat32,compute,display,graphics,ngx,utility,video"

[nvidia-container-cli]
environment = []
ldconfig = "@/sbin/ldconfig.real"
load-kmods = true

[nvidia-container-runtime]
log-level = "info"
mode = "auto"
runtimes = ["runc", "crun"]

[nvidia-container-runtime.modes.cdi]
annotation-prefixes = ["cdi.k8s.io/"]
default-kind = "nvidia.com/gpu"
spec-dirs = ["/etc/cdi", "/var/run/cdi"]
"""
#: The part of ``containerd config default`` of containerd 2 that decides how containers get GPUs.
_CONTAINERD_3 = """version = 3
root = "/var/lib/containerd"
state = "/run/containerd"
imports = ["/etc/containerd/conf.d/*.toml"]

[grpc]
address = "/run/containerd/containerd.sock"

[plugins."io.containerd.cri.v1.runtime"]
enable_cdi = true
cdi_spec_dirs = ["/etc/cdi", "/var/run/cdi"]

[plugins."io.containerd.cri.v1.runtime".containerd]
default_runtime_name = "runc"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
BinaryName = ""
SystemdCgroup = true
"""
_NVIDIA_3 = """version = 3

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.nvidia.options]
BinaryName = "{binary}"
SystemdCgroup = true
"""


def install_toolkit(tree: Tree, *, after_target: bool = False) -> None:
    """Binaries, configuration and the CDI refresh units; packages are `tests.trees.packages`. 1.19.0 alone orders itself after the target."""
    for name in _BINARIES:
        tree.program(f"/usr/bin/{name}")
    tree.write("/etc/nvidia-container-runtime/config.toml", _TOOLKIT_CONFIG)
    directory = "/etc/systemd/system"
    after = "After=multi-user.target\n" if after_target else ""
    unit(tree, "nvidia-cdi-refresh.service", _REFRESH.format(after=after), directory=directory)
    unit(tree, "nvidia-cdi-refresh.path", _REFRESH_PATH, directory=directory)


def install_containerd(tree: Tree, *, binary: str = "/usr/bin/nvidia-container-runtime") -> None:
    """containerd 2 with the drop-in of ``nvidia-ctk runtime configure``, running."""
    for name in ("containerd", "containerd-shim-runc-v2", "runc", "ctr"):
        tree.program(f"/usr/bin/{name}")
    tree.write("/etc/containerd/config.toml", _CONTAINERD_3)
    tree.write("/etc/containerd/conf.d/99-nvidia.toml", _NVIDIA_3.format(binary=binary))
    unit(
        tree,
        "containerd.service",
        service("containerd container runtime", "/usr/bin/containerd", service_more="Delegate=yes\nLimitNOFILE=infinity\n"),
    )
    run(tree, Daemon(901, ("/usr/bin/containerd",), "containerd.service", ("/run/containerd/containerd.sock",)))


def install_docker(tree: Tree, daemon: "dict[str, object]") -> None:
    """dockerd with this daemon.json, and the containerd that Docker's packages bring, running."""
    for name in ("dockerd", "docker", "docker-proxy", "containerd", "runc"):
        tree.program(f"/usr/bin/{name}")
    tree.write("/etc/docker/daemon.json", json.dumps(daemon, indent=4) + "\n")
    tree.write("/etc/containerd/config.toml", 'disabled_plugins = ["cri"]\n')
    unit(tree, "containerd.service", service("containerd container runtime", "/usr/bin/containerd", service_more="LimitNOFILE=infinity\n"))
    unit(
        tree, "docker.service",
        service("Docker Application Container Engine", "/usr/bin/dockerd -H fd:// --containerd=/run/containerd/containerd.sock", more="After=containerd.service\n"),
    )  # fmt: skip
    run(
        tree,
        Daemon(901, ("/usr/bin/containerd",), "containerd.service", ("/run/containerd/containerd.sock",)),
        Daemon(
            1050,
            ("/usr/bin/dockerd", "-H", "fd://", "--containerd=/run/containerd/containerd.sock"),
            "docker.service",
            ("/run/docker.sock",),
            25,
        ),
    )


def docker_container(tree: Tree, pid: int) -> None:
    """A container that runs: the process that containerd starts for it (containerd, pkg/shim; moby's namespace)."""
    argv = ("/usr/bin/containerd-shim-runc-v2", "-namespace", "moby", "-id", f"{pid:064x}", "-address", "/run/containerd/containerd.sock")
    run(tree, Daemon(pid, argv, "containerd.service", started_s=60))


def install_k3s(tree: Tree) -> None:
    """A k3s agent that found the toolkit when it started."""
    tree.programs["/usr/local/bin/k3s", "--version"] = "k3s version v1.33.6+k3s1 (24fc436e)\ngo version go1.24.6\n"
    tree.program("/usr/local/bin/k3s")
    directory = "/var/lib/rancher/k3s/agent/etc/containerd"
    text = _CONTAINERD_3.replace("/run/containerd", "/run/k3s/containerd").replace(
        "/var/lib/containerd", "/var/lib/rancher/k3s/agent/containerd"
    )
    text = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("imports"))
    tree.write(
        f"{directory}/config.toml",
        text + _NVIDIA_3.removeprefix("version = 3\n").format(binary="/usr/bin/nvidia-container-runtime"),
        time=BOOTED_AT + 21,
    )
    for name in ("containerd", "containerd-shim-runc-v2", "runc"):
        tree.program(f"/var/lib/rancher/k3s/data/current/bin/{name}")
    program = "/var/lib/rancher/k3s/data/current/bin/containerd"
    tree.programs[program, "--version"] = (
        "containerd github.com/k3s-io/containerd v2.1.5-k3s1.33 0f2f9d2a1b3c4d5e6f708192a3b4c5d6e7f80912\n"
    )
    unit(tree, "k3s-agent.service", service("Lightweight Kubernetes", "/usr/local/bin/k3s agent"), directory="/etc/systemd/system")
    run(
        tree,
        Daemon(901, ("/usr/local/bin/k3s", "agent"), "k3s-agent.service"),
        Daemon(
            950,
            ("containerd", "-c", f"{directory}/config.toml"),
            "k3s-agent.service",
            ("/run/k3s/containerd/containerd.sock",),
            24,
        ),
    )


def cdi(
    tree: Tree,
    gpus: int,
    *,
    path: str = "/var/run/cdi/nvidia.yaml",
    version: str = "",
    kind: str = "nvidia.com/gpu",
    time: float = BOOTED_AT + 60,
) -> None:
    """The specification that ``nvidia-ctk cdi generate`` makes, shortened to what decides: nodes, libraries, one device per GPU and all."""
    version = version or tree.driver
    library = f"{tree.libraries}/{{}}.so.{version}"
    lines = [
        "---", "cdiVersion: 0.7.0", f"kind: {kind}", "containerEdits:", "  deviceNodes:",
        *(f"    - path: /dev/{name}" for name in ("nvidia-modeset", "nvidia-uvm-tools", "nvidia-uvm", "nvidiactl")),
        "  mounts:",
    ]  # fmt: skip
    for name in (library.format("libcuda"), library.format("libnvidia-ml"), "/usr/bin/nvidia-smi"):
        lines += [f"    - containerPath: {name}", f"      hostPath: {name}", "      options: [ro, nosuid, nodev, rbind, rprivate]"]
    lines.append("devices:")
    for name in (*map(str, range(gpus)), "all"):
        lines += [f'  - name: "{name}"', "    containerEdits:", "      deviceNodes:"]
        lines += [f"        - path: /dev/nvidia{index}" for index in range(gpus) if name in (str(index), "all")]
    tree.write(path, "\n".join(lines) + "\n", time=time)


def majors(tree: Tree, path: str, major: int = UVM_MAJOR) -> None:
    """Fix the major of nvidia-uvm in a specification, as generators did that name it."""
    tree.edit(path, "    - path: /dev/nvidia-uvm\n", f"    - path: /dev/nvidia-uvm\n      major: {major}\n", time=BOOTED_AT + 60)
