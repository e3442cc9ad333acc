"""Steps about a runtime, with its own unit and its own name for nvidia-ctk."""

from hostagent.check import Step, Unread, shell
from hostagent.facts.runtime import Runtime

RESTART_CONTAINERD = Step("restart_service", "Restart containerd.", "systemctl restart containerd")
CONFIGURE_CONTAINERD = Step("configure", "Configure the nvidia runtime.", "nvidia-ctk runtime configure --runtime=containerd")
_CRIO, CRIO_DROP_INS = "/etc/crio", "/etc/crio/crio.conf.d"
#: Units that hold a runtime of another name.
_UNITS = {"rke2": "rke2-agent", "microk8s": "snap.microk8s.daemon-containerd", "k0s": "k0sworker"}


def by_snap(runtime: Runtime) -> bool:
    """Docker's snap, whose configuration and unit are its own."""
    files = () if isinstance(runtime.config_files, Unread) else runtime.config_files
    return any(path.startswith("/var/snap/docker/") for path in files)


def unit_of(runtime: Runtime) -> str:
    """The unit that starts it, without .service."""
    return "snap.docker.dockerd" if by_snap(runtime) else _UNITS.get(runtime.key, runtime.key)


def restart(runtime: Runtime) -> Step:
    return Step("restart_service", f"Restart {runtime.key}.", shell("systemctl restart {}", unit_of(runtime)))


def crio_drop_in(runtime: Runtime) -> str:
    """The path of NVIDIA's drop-in that this CRI-O reads: with a directory of its own (--config-dir) where its other drop-ins are."""
    files = () if isinstance(runtime.config_files, Unread) else runtime.config_files
    folder = files[-1].rpartition("/")[0] if files else ""
    return f"{CRIO_DROP_INS if folder in ('', _CRIO) else folder}/99-nvidia.toml"


def configure(runtime: Runtime, options: str = "") -> Step:
    """nvidia-ctk knows the three kinds."""
    command = f"nvidia-ctk runtime configure --runtime={runtime.kind}{options}"
    return Step("configure", f"Configure the nvidia runtime in {runtime.key}.", command)
